import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { durableObject, LedgerObject } from "../../ts/hosts/durable-object.ts";
import { createLimiter, exact, lazy, reserve, slidingWindow, strict, tokenBucket } from "../../ts/index.ts";
import { ledgerConformance } from "../ledger/conformance.ts";

const stubOf = (address: string) => env.LEDGER.get(env.LEDGER.idFromName(address) as never);

/** Stops the objects, as the platform does now and then; the next call starts them again. */
async function stopObjects(addresses: string[]): Promise<void> {
  for (const address of addresses) {
    await runInDurableObject(stubOf(address), (_, state) => state.abort("stopped by the test")).catch(() => {});
  }
}

for (const durability of [strict(), reserve(50), lazy({ every: "1s" })]) {
  // A stopped object is a crashed one: only what is strict is the same afterwards.
  const reopen = async (addresses: string[]) => {
    await stopObjects(addresses);
    return durableObject(env.LEDGER, { durability });
  };
  ledgerConformance(
    `a Durable Object, ${durability.mode}`,
    async () => durableObject(env.LEDGER, { durability }),
    durability.mode === "strict" ? reopen : undefined,
  );
}

describe("a Durable Object's storage", () => {
  test("is empty again when the budget has long been whole", async () => {
    const link = durableObject(env.LEDGER);
    const policy = slidingWindow({ limit: 5, window: 10 });
    const limiter = createLimiter({ policy, name: "swept", design: exact(), link, onUnreachable: "deny" });
    await limiter.limit("key");
    const stub = stubOf("6=swept=key");
    const tables = () =>
      runInDurableObject(stub, (_, state) => state.storage.sql.exec("SELECT name FROM sqlite_schema").toArray().length);
    expect(await tables()).toBeGreaterThan(0);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    // Not yet: its holder may still ask again.
    expect(await tables()).toBeGreaterThan(0);
    await runInDurableObject(stub, (_, state) => {
      state.storage.sql.exec("UPDATE ledger SET whole_at = 1");
      state.storage.sql.exec("UPDATE holder SET heard_at = 1");
    });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await tables()).toBe(0);
    expect(await limiter.limit("key")).toMatchObject({ success: true, remaining: 4 });
  });

  test("is also looked after where a budget takes centuries to be whole", async () => {
    const link = durableObject(env.LEDGER);
    const policy = tokenBucket({ rate: 1, per: "365d", burst: 1000 });
    const limiter = createLimiter({ policy, name: "slow", design: exact(), link, onUnreachable: "deny" });
    expect(await limiter.limit("key", { cost: 900 })).toMatchObject({ success: true, remaining: 100 });
    const stub = stubOf("5=slow=key");
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    // It has set itself another one.
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await limiter.peek("key")).toMatchObject({ remaining: 100 });
  });

  test("is not cleaned up under admits that lazy has yet to write", async () => {
    const policy = tokenBucket({ rate: 10, per: "1h" });
    const shared = { policy, name: "unwritten", design: exact(), onUnreachable: "deny" } as const;
    const strictly = createLimiter({ ...shared, link: durableObject(env.LEDGER) });
    const lazily = createLimiter({ ...shared, link: durableObject(env.LEDGER, { durability: lazy({ every: "1h" }) }) });
    expect(await strictly.limit("key")).toMatchObject({ remaining: 9 });
    const stub = stubOf("10=unwritten=key");
    await runInDurableObject(stub, (_, state) => state.storage.sql.exec("UPDATE ledger SET whole_at = 1"));
    expect(await lazily.limit("key", { cost: 9 })).toMatchObject({ success: true, remaining: 0 });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await strictly.peek("key")).toMatchObject({ remaining: 0 });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
  });

  test("of a later version is refused with a clear error", async () => {
    const link = durableObject(env.LEDGER);
    const policy = tokenBucket({ rate: 1, per: "1d", burst: 5 });
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const options = {
      policy,
      name: "later",
      design: exact(),
      link,
      onError,
      deadline: "20s",
      onUnreachable: "deny",
    } as const;
    await createLimiter(options).limit("key");
    const stub = stubOf("6=later=key");
    await runInDurableObject(stub, (_, state) => {
      state.storage.sql.exec(`UPDATE ledger SET state = '{"v":9}'`);
    });
    await stopObjects(["6=later=key"]);
    const late = createLimiter({ ...options, deadline: "300ms" });
    expect(await late.limit("key")).toMatchObject({ success: false, reason: "unreachable" });
    expect(String(errors[0])).toContain("has version 9; this version of sluice reads 1");
  });
});

test("durableObject says what is wrong with its options", () => {
  expect(() => durableObject(undefined as never)).toThrow(/namespace must be the binding of LedgerObject/);
  expect(() => durableObject(env.LEDGER, { durable: strict() } as never)).toThrow(
    /no option "durable"; allowed: durability/,
  );
  expect(LedgerObject.name).toBe("LedgerObject");
});
