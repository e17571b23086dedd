import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Hold, Policy } from "../ts/contract.ts";
import { limiterFor } from "../ts/create-limiter.ts";
import { exact, fixedWindow, LimiterError, slidingWindow, tokenBucket } from "../ts/index.ts";
import { FakeAmbient, seeded } from "./support/fake-ambient.ts";
import { memoryLink } from "./support/memory-link.ts";

function setUp(policy: Policy) {
  const ambient = new FakeAmbient(1_700_000_000_000);
  return { ambient, limiter: limiterFor(ambient)({ policy }) };
}

const bucket = () => tokenBucket({ rate: 10, per: "10s" });

describe("a hold", () => {
  test("gives back what the work did not use", async () => {
    const { limiter } = setUp(bucket());
    const hold = await limiter.reserve("k", 8);
    expect((await limiter.peek("k")).remaining).toBe(2);
    expect(await hold.commit(3)).toBe(3);
    expect((await limiter.peek("k")).remaining).toBe(7);
  });

  test("settles once, whatever is called after", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(fc.nat(20), { nil: "release" as const }), { minLength: 2, maxLength: 6 }),
        async (calls) => {
          const { limiter } = setUp(bucket());
          const hold = await limiter.reserve("k", 5);
          const call = (actual: number | "release") => (actual === "release" ? hold.release() : hold.commit(actual));
          const charged = await Promise.all(calls.map(call));
          expect(new Set(charged).size).toBe(1);
          expect((await limiter.peek("k")).remaining).toBe(10 - (charged[0] as number));
          const first = calls[0] as number | "release";
          expect(charged[0]).toBe(first === "release" ? 0 : Math.min(first, 10));
        },
      ),
    );
  });

  test("takes what the work used beyond the estimate, as far as the budget reaches", async () => {
    const { limiter } = setUp(bucket());
    const [one, other] = [await limiter.reserve("k", 2), await limiter.reserve("k", 2)];
    expect(await one.commit(5)).toBe(5);
    expect(await other.commit(100)).toBe(5);
    expect((await limiter.peek("k")).remaining).toBe(0);
  });

  test("that was refused holds nothing and charges nothing", async () => {
    const { limiter } = setUp(bucket());
    await limiter.limit("k", { cost: 5 });
    const hold = await limiter.reserve("k", 6);
    expect([hold.decision.success, hold.decision.retryAfterMs]).toEqual([false, 1000]);
    expect([await hold.commit(6), await hold.release()]).toEqual([0, 0]);
    expect((await limiter.peek("k")).remaining).toBe(5);
  });

  test("is given back after its ttl; whoever comes later with a cost is charged anew", async () => {
    const { limiter, ambient } = setUp(fixedWindow({ limit: 10, window: "1d" }));
    const [late, never] = [await limiter.reserve("k", 4, { ttl: "5s" }), await limiter.reserve("k", 4, { ttl: "5s" })];
    await ambient.pass(4999);
    expect((await limiter.peek("k")).remaining).toBe(2);
    await ambient.pass(1);
    expect((await limiter.peek("k")).remaining).toBe(10);
    expect(await late.commit(3)).toBe(3);
    expect(await never.release()).toBe(0);
    expect((await limiter.peek("k")).remaining).toBe(7);
    expect(ambient.waiting).toBe(0);
  });

  test("is released by its signal, and keeps no timer once it is settled", async () => {
    const { limiter, ambient } = setUp(bucket());
    const abort = new AbortController();
    await limiter.reserve("k", 4, { signal: abort.signal });
    const settled = await limiter.reserve("k", 4, { signal: abort.signal });
    await settled.commit(4);
    abort.abort();
    await ambient.pass(0);
    expect((await limiter.peek("k")).remaining).toBe(6);
    expect(ambient.waiting).toBe(0);
    await expect(limiter.reserve("k", 1, { signal: abort.signal })).rejects.toThrow("aborted");
    expect((await limiter.peek("k")).remaining).toBe(6);
  });

  test("gives back what is held when the limiter is closed, and keeps no timer", async () => {
    const ambient = new FakeAmbient(1_700_000_000_000);
    const link = memoryLink();
    const policy = tokenBucket({ rate: 1, per: "1d", burst: 20 });
    const make = (at: FakeAmbient) => limiterFor(at)({ policy, design: exact(), link, onUnreachable: "deny" });
    const limiter = make(ambient);
    const holds = await Promise.all([3, 4, 5].map((estimate) => limiter.reserve("k", estimate)));
    expect(await holds[0]?.commit(3)).toBe(3);
    await limiter.close();
    expect(ambient.waiting).toBe(0);
    // Another process, with an id of its own.
    const other = make(new FakeAmbient(1_700_000_000_000, seeded(2)));
    expect((await other.peek("k")).remaining).toBe(17);
    // Whoever comes now finds it settled.
    expect(await holds[1]?.commit(4)).toBe(0);
    await expect(limiter.reserve("k", 1)).rejects.toThrow(/is closed/);
  });

  test("says what is wrong with its numbers", async () => {
    const { limiter } = setUp(bucket());
    for (const estimate of [0, -1, 1.5, Number.NaN])
      await expect(limiter.reserve("k", estimate)).rejects.toThrow(RangeError);
    await expect(limiter.reserve("k", 1, { ttl: "soon" })).rejects.toThrow(/ttl must be a duration/);
    const hold = await limiter.reserve("k", 1);
    for (const actual of [-1, 0.5, Number.NaN]) expect(() => hold.commit(actual)).toThrow(/actual must be an integer/);
    expect(await hold.commit(1)).toBe(1);
    await limiter.close();
    await expect(limiter.reserve("k", 1)).rejects.toThrow(LimiterError);
  });
});

// A few tokens per second, some of them at once: so that several holds are open while a bucket refills in part.
const numbers = { limit: fc.integer({ min: 1, max: 20 }), window: fc.integer({ min: 1, max: 2000 }) };
const anyPolicy = fc.oneof(
  {
    weight: 2,
    arbitrary: fc
      .record({ rate: fc.integer({ min: 1, max: 5 }), per: fc.integer({ min: 1, max: 1000 }), burst: numbers.limit })
      .map(tokenBucket),
  },
  { weight: 1, arbitrary: fc.record(numbers).map(fixedWindow) },
  { weight: 1, arbitrary: fc.record(numbers).map(slidingWindow) },
);
const steps = fc.array(
  fc.record({
    gap: fc.oneof(fc.constant(0), fc.nat(50), fc.nat(500)),
    amount: fc.integer({ min: 1, max: 8 }),
    does: fc.constantFrom("take", "drain", "reserve", "reserve", "settle", "release", "release"),
    which: fc.nat(10),
  }),
  { maxLength: 40, size: "max" },
);

describe("giving back", () => {
  /** Runs the steps with at most `most` holds open; returns every use of tokens that was really made. */
  async function uses(policy: Policy, list: typeof steps extends fc.Arbitrary<infer T> ? T : never, most: number) {
    const { limiter, ambient } = setUp(policy);
    const open: { hold: Hold; at: number; estimate: number }[] = [];
    const made: { at: number; amount: number }[] = [];
    const settle = async ({ hold, at, estimate }: (typeof open)[number], amount: number) => {
      const charged = await hold.commit(amount);
      made.push({ at, amount: Math.min(amount, estimate) });
      if (amount > estimate) made.push({ at: ambient.now(), amount: charged - estimate });
    };
    for (const { gap, amount, does, which } of list) {
      await ambient.pass(gap);
      if (does === "take" && (await limiter.limit("k", { cost: amount })).success)
        made.push({ at: ambient.now(), amount });
      if (does === "drain") {
        const { remaining } = await limiter.peek("k");
        if (remaining > 0 && (await limiter.limit("k", { cost: remaining })).success) {
          made.push({ at: ambient.now(), amount: remaining });
        }
      }
      if (does === "reserve" && open.length < most) {
        const hold = await limiter.reserve("k", amount, { ttl: "1d" });
        if (hold.decision.success) open.push({ hold, at: ambient.now(), estimate: amount });
      }
      const [chosen] = /settle|release/.test(does) ? open.splice(which % (open.length || 1), 1) : [];
      if (chosen) await settle(chosen, does === "release" ? 0 : amount % (chosen.estimate + 3));
    }
    for (const rest of open) await settle(rest, rest.estimate);
    return made.filter(({ amount }) => amount > 0).sort((a, b) => a.at - b.at);
  }

  /** Whether a limiter that knows the true costs from the start admits every one of them. */
  async function admissible(policy: Policy, made: Awaited<ReturnType<typeof uses>>) {
    const { limiter, ambient } = setUp(policy);
    for (const { at, amount } of made) {
      await ambient.pass(at - ambient.now());
      if (!(await limiter.limit("k", { cost: amount })).success) return false;
    }
    return true;
  }

  test("counts what other holds on the key have given back meanwhile", async () => {
    const { limiter, ambient } = setUp(bucket());
    const [a, b] = [await limiter.reserve("k", 5), await limiter.reserve("k", 5)];
    await ambient.pass(3000);
    expect(await a.release()).toBe(3);
    await ambient.pass(1000);
    expect((await limiter.limit("k", { cost: 3 })).success).toBe(true);
    await b.release();
    // Without the two holds the bucket had been full, and would have 7.
    expect((await limiter.peek("k")).remaining).toBeLessThanOrEqual(7);
  });

  test("never lets more through than the policy would have, had it known the costs", async () => {
    await fc.assert(
      fc.asyncProperty(anyPolicy, steps, fc.integer({ min: 1, max: 4 }), async (policy, list, most) => {
        expect(await admissible(policy, await uses(policy, list, most))).toBe(true);
      }),
      { numRuns: 8000 },
    );
  });
});
