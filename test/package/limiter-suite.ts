// What the published root entry must do wherever it is imported; it gets the package as it is there.
import { describe, expect, test } from "vitest";
import type { Policy, PolicySpec } from "../../ts/contract.ts";

type Sluice = typeof import("../../ts/index.ts");

export interface Vector {
  policy: PolicySpec;
  steps: {
    now: number;
    cost: number;
    success: boolean;
    remaining: number;
    retryAfterMs: number | null;
    reset: number;
  }[];
}

const KEYS = 200_000;

export function limiterSuite(name: string, sluice: Sluice, vectors: Vector[]): void {
  const { createLimiter, local, tokenBucket } = sluice;
  const two = tokenBucket({ rate: 1, per: "1d", burst: 2 });

  describe(name, () => {
    test("decides by the platform's own clock, with a promise and without", async () => {
      const before = Date.now();
      const limiter = createLimiter({ policy: two, name: "api" });
      const { reset, ...first } = await limiter.limit(["user", "42"]);
      expect(first).toEqual({
        success: true,
        limit: 2,
        remaining: 1,
        retryAfterMs: 0,
        reason: "ok",
        policy: "api",
        source: "local",
      });
      expect(reset).toBeGreaterThanOrEqual(before + 86_400_000);
      expect(limiter.limitSync(["user", "42"]).success).toBe(true);
      const { success, reason, retryAfterMs } = limiter.limitSync(["user", "42"]);
      expect([success, reason]).toEqual([false, "limited"]);
      expect(retryAfterMs).toBeGreaterThan(86_400_000 - 60_000);
      expect(limiter.limitSync("user42", { cost: 3 })).toMatchObject({ reason: "cost_exceeds_capacity" });
      await limiter.close();
    });

    test("keys of every kind, also in batches, are one each", () => {
      const limiter = createLimiter({ policy: two });
      const keys = ["a", "ключ", "\ud800", 7, new Uint8Array(16), ["a", "b"], ["ab"], "a"];
      expect(limiter.limitMany(keys).map(({ remaining }) => remaining)).toEqual([1, 1, 1, 1, 1, 1, 1, 0]);
      expect([...limiter.allowMany(keys)]).toEqual([0, 1, 1, 1, 1, 1, 1, 0]);
    });

    test(`the table grows to ${KEYS} keys and forgets none; where it may not grow, it refuses`, () => {
      const limiter = createLimiter({ policy: tokenBucket({ rate: 1, per: "1d", burst: 1 }) });
      const keys = Array.from({ length: KEYS }, (_, nth) => `key:${nth}`);
      expect(limiter.allow("first")).toBe(true);
      const { bytes } = limiter.stats();
      expect(keys.filter((key) => limiter.allow(key)).length).toBe(KEYS);
      expect(keys.filter((key) => limiter.allow(key)).length).toBe(0);
      expect(limiter.stats()).toMatchObject({ keys: KEYS + 1, deniedNew: 0 });
      expect(limiter.stats().bytes).toBeGreaterThan(bytes);
      const small = createLimiter({ policy: two, design: local({ maxKeys: 100 }) });
      const admitted = keys.slice(0, 1000).filter((key) => small.allow(key)).length;
      expect(admitted + small.stats().deniedNew).toBe(1000);
      expect(small.stats().deniedNew).toBeGreaterThan(0);
    });

    test("waits by the platform's own timers", async () => {
      const limiter = createLimiter({ policy: tokenBucket({ rate: 10, per: "1s", burst: 1 }) });
      const answers = await Promise.all([1, 2, 3].map(() => limiter.wait("key", { maxWait: "20s" })));
      expect(answers.map(({ success }) => success)).toEqual([true, true, true]);
    });

    test(`every right answer of the oracle: ${vectors.length} cases`, () => {
      for (const { policy, steps } of vectors) {
        let now = 0;
        const limiter = createLimiter({ policy: policyOf(sluice, policy), clock: { now: () => now } });
        for (const expected of steps) {
          now = expected.now;
          const { success, remaining, retryAfterMs, reset } = limiter.limitSync("key", { cost: expected.cost });
          expect({ now, cost: expected.cost, success, remaining, retryAfterMs, reset }).toEqual(expected);
        }
      }
    });
  });
}

function policyOf({ tokenBucket, fixedWindow, slidingWindow }: Sluice, spec: PolicySpec): Policy {
  const { kind, ...options } = spec;
  return { tokenBucket, fixedWindow, slidingWindow }[kind](options as never);
}
