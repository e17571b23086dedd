// What every ledger host must do, whatever it stores its keys in. A host's test calls this in a
// few lines; the cases use no clock, so that they can run in any runtime.
import { describe, expect, test } from "vitest";
import type { Policy, PolicySpec } from "../../ts/contract.ts";
import {
  createLimiter,
  exact,
  fixedWindow,
  LimiterError,
  type Link,
  slidingWindow,
  tokenBucket,
} from "../../ts/index.ts";
import type { LedgerRequest } from "../../ts/ledger/messages.ts";
import { addressesOf } from "../../ts/link/address.ts";

/** A bucket that doesn't refill while a test runs. */
const bucket = (burst: number) => tokenBucket({ rate: 1, per: "1d", burst });

let names = 0;
/** A limiter whose keys no other test has touched. */
function limiterOn(link: Link, policy: Policy | Policy[], name = `limiter-${names++}`) {
  return createLimiter({ policy, name, design: exact(), link, onUnreachable: "deny", deadline: "20s" });
}

function requestOf(policy: PolicySpec, holder: string, seq: number, ops: number[]): LedgerRequest {
  return { v: 1, holder, seq, policies: [policy], ops };
}

/**
 * @param open    the host's link
 * @param reopen  the link after the host of those ledgers has stopped and started again
 */
export function ledgerConformance(
  host: string,
  open: () => Promise<Link>,
  reopen?: (addresses: string[]) => Promise<Link>,
): void {
  describe(`${host} as a ledger host`, () => {
    test("admits exactly the limit to concurrent callers of several holders", async () => {
      const link = await open();
      const name = `shared-${names++}`;
      const limiters = [0, 1, 2, 3].map(() => limiterOn(link, bucket(20), name));
      const calls = Array.from({ length: 64 }, (_, nth) => limiters[nth % 4]?.limit("key"));
      const decisions = await Promise.all(calls);
      expect(decisions.filter((decision) => decision?.success).length).toBe(20);
      for (const decision of decisions) {
        expect(decision).toMatchObject({ limit: 20, policy: name, reason: decision?.success ? "ok" : "limited" });
      }
    });

    for (const policy of [
      bucket(9),
      fixedWindow({ limit: 9, window: "365d" }),
      slidingWindow({ limit: 9, window: "1d" }),
    ]) {
      test(`takes, looks, gives back and starts afresh: ${policy.kind}`, async () => {
        const limiter = limiterOn(await open(), policy);
        expect(await limiter.limit("a", { cost: 6 })).toMatchObject({ success: true, remaining: 3, source: "ledger" });
        expect(await limiter.peek("a", { cost: 4 })).toMatchObject({ success: false, remaining: 3 });
        expect(await limiter.peek("a", { cost: 3 })).toMatchObject({ success: true, remaining: 3 });
        expect(await limiter.limit("a", { cost: 4 })).toMatchObject({ success: false, remaining: 3 });
        expect(await limiter.refund("a", 2)).toMatchObject({ remaining: 5 });
        expect(await limiter.limit("a", { cost: 4 })).toMatchObject({ success: true, remaining: 1 });
        expect(await limiter.refund("a", 1000)).toMatchObject({ remaining: 9 });
        expect(await limiter.limit("a", { cost: 9 })).toMatchObject({ success: true, remaining: 0 });
        expect(await limiter.reset("a")).toMatchObject({ success: true, remaining: 9 });
        expect(await limiter.limit("b")).toMatchObject({ success: true, remaining: 8 });
      });
    }

    test("says never to a cost above the capacity, and charges nothing", async () => {
      const limiter = limiterOn(await open(), bucket(5));
      const never = { success: false, retryAfterMs: null, reason: "cost_exceeds_capacity", remaining: 5 };
      expect(await limiter.limit("a", { cost: 6 })).toMatchObject(never);
      expect(await limiter.limit("a", { cost: 5 })).toMatchObject({ success: true });
    });

    test("several policies admit together or are not charged", async () => {
      const limiter = limiterOn(await open(), [bucket(5), fixedWindow({ limit: 8, window: "365d" })]);
      expect(await limiter.limit("a", { cost: 4 })).toMatchObject({ success: true, limit: 5, remaining: 1 });
      const refused = await limiter.limit("a", { cost: 3 });
      expect(refused).toMatchObject({ success: false, limit: 5, remaining: 1, reason: "limited" });
      expect(refused.each?.map((one) => [one.success, one.remaining])).toEqual([
        [false, 1],
        [true, 4],
      ]);
      expect(await limiter.peek("a")).toMatchObject({ success: true, remaining: 1 });
      const never = await limiter.peek("a", { cost: 6 });
      expect(never).toMatchObject({ success: false, retryAfterMs: null, limit: 5 });
      expect(never.each?.map((one) => one.success)).toEqual([false, false]);
    });

    test("answers a repeated request as before, and charges nothing more", async () => {
      const link = await open();
      const address = `repeat-${names++}`;
      const { spec } = bucket(10);
      const first = await link.ask(address, requestOf(spec, "holder", 1, [0, 3, 0, 4]));
      expect(first.outcomes.filter((_, cell) => cell % 4 < 2)).toEqual([1, 7, 1, 3]);
      expect(await link.ask(address, requestOf(spec, "holder", 1, [0, 3, 0, 4]))).toEqual(first);
      const other = await link.ask(address, requestOf(spec, "other", 1, [1, 1]));
      expect(other.outcomes[1]).toBe(3);
      const next = await link.ask(address, requestOf(spec, "holder", 2, [0, 3]));
      expect(next.outcomes.slice(0, 2)).toEqual([1, 0]);
      const late = await link.ask(address, requestOf(spec, "holder", 1, [0, 3, 0, 4]));
      expect(late).toMatchObject({ outcomes: [], error: { code: "protocol" } });
      expect((await link.ask(address, requestOf(spec, "other", 2, [1, 1]))).outcomes[1]).toBe(0);
    });

    test("refuses what it does not understand, and decides nothing", async () => {
      const link = await open();
      const address = `bad-${names++}`;
      const { spec } = bucket(10);
      const bad: [unknown, string][] = [
        [{ ...requestOf(spec, "h", 1, [0, 1]), v: 2 }, "protocol"],
        [requestOf({ ...spec, rate: 0 } as PolicySpec, "h", 1, [0, 1]), "request"],
        [requestOf({ kind: "leakyBucket" } as never, "h", 1, [0, 1]), "request"],
        [{ ...requestOf(spec, "h", 1, [0, 1]), policies: [] }, "request"],
        [requestOf(spec, "h", 1, [0, 2, 9, 1]), "request"],
        [requestOf(spec, "h", 1, [0, 2, 0, 1.5]), "request"],
        [requestOf(spec, "h", 1, [0, 2, 0]), "request"],
      ];
      for (const [request, code] of bad) {
        expect(await link.ask(address, request as LedgerRequest)).toMatchObject({ outcomes: [], error: { code } });
      }
      expect((await link.ask(address, requestOf(spec, "h", 1, [1, 1]))).outcomes[1]).toBe(10);
    });

    test("carries a level over to a changed policy, and back, without a refill", async () => {
      const link = await open();
      const name = `carried-${names++}`;
      const of = (limit: number) => limiterOn(link, fixedWindow({ limit, window: "365d" }), name);
      await of(10).limit("a", { cost: 5 });
      expect(await of(100).limit("a")).toMatchObject({ success: true, remaining: 49 });
      // A second change must wait, so that a fleet in transition doesn't wear the level down.
      const old = of(10);
      for (let call = 0; call < 20; call++) expect((await old.limit("a")).success).toBe(true);
      expect(await of(100).peek("a")).toMatchObject({ remaining: 29 });
    });

    test("keeps every name and key apart", async () => {
      const link = await open();
      const suffix = names++;
      const keys = [
        "a",
        ["a"],
        ["a", "b"],
        ["ab"],
        "1:a1:b",
        "\0",
        "\0\0",
        "\ud800",
        "\udc00",
        "\ufffd",
        "é",
        "e\u0301",
        "=a",
        "~a",
      ];
      const calls = ["x", "x=", "\ud800", "1=x"].flatMap((name) => {
        const limiter = limiterOn(link, bucket(1), name + suffix);
        return keys.map((key) => limiter.limit(key));
      });
      expect((await Promise.all(calls)).every((decision) => decision.success)).toBe(true);
    });

    test("decides more calls at once than one request takes", async () => {
      const limiter = limiterOn(await open(), bucket(2000));
      const decisions = await Promise.all(Array.from({ length: 3000 }, () => limiter.limit("a")));
      expect(decisions.filter(({ success }) => success).length).toBe(2000);
      const left = decisions.filter(({ success }) => success).map(({ remaining }) => remaining);
      expect(left).toEqual(Array.from({ length: 2000 }, (_, nth) => 1999 - nth));
      expect(limiter.stats()).toMatchObject({ admitted: 2000, denied: 1000 });
    });

    test("peeks that find no ledger state leave none", async () => {
      const limiter = limiterOn(await open(), bucket(3));
      expect(await limiter.peek("a", { cost: 3 })).toMatchObject({ success: true, remaining: 3 });
      expect(await limiter.refund("a", 3)).toMatchObject({ remaining: 3 });
      await expect(limiter.close()).resolves.toBeUndefined();
      await expect(limiter.limit("a")).rejects.toThrow(LimiterError);
    });

    if (!reopen) return;
    test("remembers levels and answers over a restart", async () => {
      const link = await open();
      const name = `restart-${names++}`;
      const address = `restart-${names++}`;
      await limiterOn(link, bucket(10), name).limit("a", { cost: 7 });
      const request = requestOf(bucket(10).spec, "holder", 1, [0, 4]);
      const reply = await link.ask(address, request);
      const again = await reopen([addressesOf(name)("a"), address]);
      expect(await limiterOn(again, bucket(10), name).limit("a", { cost: 4 })).toMatchObject({
        success: false,
        remaining: 3,
      });
      expect(await again.ask(address, request)).toEqual(reply);
      expect((await again.ask(address, requestOf(bucket(10).spec, "other", 1, [1, 1]))).outcomes[1]).toBe(6);
    });
  });
}
