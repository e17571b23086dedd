// The boundary between tenants, and between the endpoints of one: what each stores, what others
// may learn of it, and what becomes of the others when one of them dies.
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { type LedgerNamespace, TenantObject, tenants } from "../../ts/hosts/durable-object.ts";
import { createLimiter, exact, type LimiterOptions, tokenBucket } from "../../ts/index.ts";
import { encodeParts } from "../../ts/key.ts";
import { addressesOf } from "../../ts/link/address.ts";

const bucket = (burst: number) => tokenBucket({ rate: 1, per: "365d", burst });
const stubOf = (name: string, tenant: string) =>
  env.TENANTS.get(env.TENANTS.idFromName(addressesOf(name)(encodeParts([tenant]))) as never);

function limiterOn(name: string, more: Partial<LimiterOptions> = {}) {
  const options = {
    policy: bucket(50),
    plan: bucket(200),
    design: exact(),
    onUnreachable: "deny",
    deadline: "20s",
  } as const;
  return createLimiter({ ...options, name, link: tenants(env.TENANTS), ...more });
}

/** The text of all rows of an object's own database, and of one of its facets. */
async function rowsOf(name: string, tenant: string): Promise<string> {
  return runInDurableObject(stubOf(name, tenant), (_, { storage }) => dump(storage));
}
function dump(storage: { sql: { exec(query: string): { toArray(): unknown[] } } }): string {
  const tables = storage.sql
    .exec("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'")
    .toArray() as { name: string }[];
  return JSON.stringify(tables.map(({ name }) => [name, storage.sql.exec(`SELECT * FROM "${name}"`).toArray()]));
}
/** As above, by a class that reads a facet's database in place of the endpoint's own. */
async function facetRows(name: string, tenant: string, facet: string): Promise<string> {
  const stub = stubOf(name, tenant) as { readFacet(facet: string): Promise<string> };
  return stub.readFacet(facet);
}

describe("what is stored", () => {
  test("an endpoint's database has its own rows alone, and the tenant's none of other tenants", async () => {
    const limiter = limiterOn("stored");
    for (const tenant of ["mallory", "alice"]) {
      for (const endpoint of ["red", "blue"])
        await limiter.limit([tenant, endpoint], { cost: tenant === "alice" ? 7 : 3 });
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    const plan = await rowsOf("stored", "mallory");
    expect(plan).toContain("mallory");
    expect(plan).toContain("red");
    expect(plan).not.toContain("alice");
    const red = await facetRows("stored", "mallory", "=red");
    expect(red).toContain('"red"');
    for (const other of ["blue", "mallory", "alice"]) expect(red).not.toContain(other);
    expect(JSON.parse(red).find(([table]: [string]) => table === "ledger")[1]).toHaveLength(1);
    // It still knows what it knew.
    expect(await limiter.limit(["mallory", "red"])).toMatchObject({ success: true, remaining: 46 });
  });

  test("names that are long, strange or alike are endpoints of their own", async () => {
    const limiter = limiterOn("strange", { policy: bucket(1) });
    const long = "x".repeat(3000);
    const names = [
      "a",
      "=a",
      "~a",
      '~"a"',
      "#a",
      "a\0",
      "a\0b",
      "\ud800",
      "\udc00",
      "\ufffd",
      "é",
      "e\u0301",
      "..",
      "../../a",
      " ",
      "💩".repeat(64),
      "💩".repeat(63),
      `${long}1`,
      `${long}2`,
      "__proto__",
    ];
    for (const endpoint of names) expect((await limiter.limit(["t", endpoint])).success, endpoint).toBe(true);
    for (const endpoint of names) expect((await limiter.limit(["t", endpoint])).success, endpoint).toBe(false);
    expect((await limiter.peek(["t", "new"])).each?.at(-1)).toMatchObject({ remaining: 200 - names.length });
  });
});

describe("what others learn", () => {
  test("no answer and no error of one tenant has a name or level of another", async () => {
    const errors: unknown[] = [];
    const limiter = limiterOn("quiet", { onError: (error) => errors.push(error), deadline: "400ms" });
    await limiter.limit(["victim-7", "pay-7"], { cost: 37 });
    // The victim's own ledger breaks, with its names in the error.
    await runInDurableObject(stubOf("quiet", "victim-7"), (_, state) => {
      state.storage.sql.exec(`UPDATE ledger SET state = '{"v":9,"victim-7":"pay-7"}'`);
    });
    await runInDurableObject(stubOf("quiet", "victim-7"), (_, state) => state.abort("victim-7 is stopped")).catch(
      () => {},
    );
    const broken = await limiter.peek(["victim-7", "pay-7"]).catch((error) => error);
    expect(broken).toMatchObject({ code: "unreachable" });
    const heard: unknown[] = [];
    for (const key of [
      ["victim", "7pay-7"],
      ["victim-", "7"],
      ["other", "pay-7"],
      ["other", "victim-7"],
    ]) {
      heard.push(await limiter.limit(key, { cost: 50 }), await limiter.limit(key), await limiter.peek(key));
      heard.push(await limiter.limit(key, { cost: 51 }));
    }
    expect(JSON.stringify(heard)).not.toMatch(/victim-7|pay-7|\b13\b|\b163\b/);
    for (const decision of heard as { success: boolean; limit: number }[]) expect([50, 200]).toContain(decision.limit);
    // An error has no other's as its cause.
    const cut = limiterOn("quiet", { deadline: "100ms", link: failing("victim-7 and pay-7 failed") });
    await cut.limit(["victim-7", "pay-7"]);
    const own = await cut.peek(["other", "pay"]).catch((error) => error);
    expect(`${own} ${own.cause}`).not.toMatch(/victim-7|pay-7/);
  });

  /** A link that fails for the one with a clear word, and for others hangs. */
  function failing(word: string) {
    const link = tenants(env.TENANTS);
    const ask: typeof link.ask = (_, { plan }) =>
      plan?.child === "pay-7" ? Promise.reject(new Error(word)) : new Promise(() => {});
    return { ...link, ask };
  }
});

/** Deletes a facet, if it is there: the runtime throws if it is not. */
function deleted(attempt: () => void): void {
  try {
    attempt();
  } catch {
    // It has not been asked since it was deleted.
  }
}

describe("when an endpoint dies in mid-load", () => {
  for (const [how, rounds] of [
    ["abort", 8],
    ["delete", 8],
  ] as const) {
    test(`${how}: the others and the plan go on, and the plan is never exceeded`, async () => {
      const name = `dying-${how}`;
      const limiter = limiterOn(name, { policy: bucket(40), plan: bucket(150) });
      const admitted = new Map<string, number>();
      const refused: unknown[] = [];
      let done = false;
      const load = ["one", "two", "three", "victim"].flatMap((endpoint) =>
        Array.from({ length: 4 }, async () => {
          while (!done) {
            const decision = await limiter.limit(["t", endpoint]);
            if (decision.success) admitted.set(endpoint, (admitted.get(endpoint) ?? 0) + 1);
            if (decision.reason === "unreachable" && endpoint !== "victim") refused.push(decision);
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
        }),
      );
      for (let round = 0; round < rounds; round++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        await runInDurableObject(stubOf(name, "t"), (_, { facets }) => {
          if (how === "abort") facets.abort("=victim", new Error("the victim dies"));
          else deleted(() => facets.delete("=victim"));
        });
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      done = true;
      await Promise.all(load);
      expect(refused).toEqual([]);
      for (const endpoint of ["one", "two", "three"]) {
        expect(admitted.get(endpoint)).toBeLessThanOrEqual(40);
      }
      if (how === "abort") expect(admitted.get("victim")).toBeLessThanOrEqual(40);
      const sum = [...admitted.values()].reduce((total, count) => total + count, 0);
      const { each } = await limiter.peek(["t", "one"]);
      expect(sum).toBeGreaterThan(40);
      expect(200 - 50 - (each?.at(-1)?.remaining ?? 0)).toBeGreaterThanOrEqual(sum);
      expect((await limiter.peek(["t", "victim"])).reason).not.toBe("unreachable");
    });
  }
});

describe("what nobody uses any more", () => {
  test("is deleted, with the endpoints' databases, and then begins afresh", async () => {
    const limiter = limiterOn("swept");
    await limiter.limit(["t", "red"], { cost: 5 });
    await limiter.limit(["t", "blue"], { cost: 5 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    const stub = stubOf("swept", "t");
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await rowsOf("swept", "t")).toContain("blue");
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("UPDATE child SET until = 1");
      storage.sql.exec("UPDATE ledger SET whole_at = 1");
    });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await rowsOf("swept", "t")).toBe("[]");
    expect((await limiter.limit(["t", "red"])).each?.map(({ remaining }) => remaining)).toEqual([49, 199]);
  });
});

test("tenants says what is wrong with its options", () => {
  expect(() => tenants(undefined as never)).toThrow(/namespace must be the binding of TenantObject/);
  expect(() => tenants(env.TENANTS, { durable: 1 } as never)).toThrow(/allowed: durability, childrenMax/);
  expect(() => tenants(env.TENANTS, { childrenMax: 0 })).toThrow(/childrenMax must be an integer in 1\.\.100000/);
  expect(() =>
    createLimiter({
      policy: bucket(1),
      design: exact(),
      onUnreachable: "deny",
      link: tenants(env.TENANTS as LedgerNamespace),
    }),
  ).toThrow(/need the option plan/);
  expect(TenantObject.name).toBe("TenantObject");
});
