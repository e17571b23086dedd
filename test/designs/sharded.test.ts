import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { limiterFor } from "../../ts/create-limiter.ts";
import type { Link } from "../../ts/designs/link.ts";
import { sharded } from "../../ts/designs/sharded.ts";
import { overLedgers } from "../../ts/holders/over-ledgers.ts";
import { Width } from "../../ts/holders/sharded-auto.ts";
import { splitPolicies } from "../../ts/holders/sharded-split.ts";
import { fixedWindow, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { policyOf } from "../../ts/policies/spec.ts";
import { FakeAmbient } from "../support/fake-ambient.ts";

const limits: fc.Arbitrary<PolicySpec> = fc.oneof(
  fc.record({
    kind: fc.constant("tokenBucket" as const),
    rate: fc.integer({ min: 1, max: 10_000 }),
    per: fc.integer({ min: 1, max: 60_000 }),
    burst: fc.integer({ min: 1, max: 1000 }),
  }),
  fc.record({
    kind: fc.constant("fixedWindow" as const),
    limit: fc.integer({ min: 1, max: 1000 }),
    window: fc.constant(1000),
  }),
  fc.record({
    kind: fc.constant("slidingWindow" as const),
    limit: fc.integer({ min: 1, max: 1000 }),
    window: fc.constant(1000),
    resolution: fc.constant(10),
  }),
);

describe("a static split", () => {
  test("gives away the limit to the token, and the rate to the last bit", () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 256 }), (spec, shards) => {
        const policy = policyOf(spec);
        if (policy.capacity < shards) {
          expect(() => splitPolicies([policy], shards)).toThrow(
            `${shards} shards can't share ${policy.capacity} tokens`,
          );
          return;
        }
        const parts = splitPolicies([policy], shards).map((part) => part[0] as typeof policy);
        expect(parts.reduce((sum, { capacity }) => sum + capacity, 0)).toBe(policy.capacity);
        const least = Math.min(...parts.map(({ capacity }) => capacity));
        expect(Math.max(...parts.map(({ capacity }) => capacity)) - least).toBeLessThanOrEqual(1);
        for (const { spec: part } of parts) {
          if (part.kind !== "tokenBucket" || spec.kind !== "tokenBucket") continue;
          expect([part.rate, part.per]).toEqual([spec.rate, spec.per * shards]);
        }
      }),
    );
  });
});

const link: Link = { ...overLedgers, durability: { mode: "strict" }, ask: () => new Promise(() => {}) };
const shared = { link, onUnreachable: "deny" as const, policy: tokenBucket({ rate: 10, burst: 100 }) };
const createLimiter = limiterFor(new FakeAmbient(1_700_000_000_000));

describe("sharded() says", () => {
  test("what it takes", () => {
    expect(() => sharded({ shards: 0 })).toThrow("shards must be an integer in 1..256; got 0");
    expect(() => sharded({ shards: 2, split: "even" as never })).toThrow('split must be "leased" or "static"');
    expect(() => sharded({ shards: 2, route: "near" as never })).toThrow('route must be "pinned" or "spread"');
    expect(() => sharded({ shards: "auto", split: "static" })).toThrow('"auto" needs split: "leased"');
    expect(() => sharded({ shards: 2, splitAt: 5 })).toThrow('splitAt goes with shards: "auto"');
    expect(() => createLimiter({ ...shared, design: sharded({ shards: 4 }) })).toThrow(
      "link that reaches middle ledgers",
    );
    const fixed = fixedWindow({ limit: 3, window: "1s" });
    const design = sharded({ shards: 4, split: "static" });
    expect(() => createLimiter({ ...shared, policy: fixed, design })).toThrow("4 shards can't share 3 tokens");
  });

  test("what it gives up", () => {
    const staticBounds = (retries: number) =>
      createLimiter({ ...shared, design: sharded({ shards: 16, split: "static", retries }) }).bounds();
    // 100 tokens over 16 shards: four of 7 and twelve of 6.
    expect(staticBounds(0)).toMatchObject({ overshoot: 0, stranded: 94, roundTripsPerAdmit: 1 });
    expect(staticBounds(3)).toMatchObject({ overshoot: 0, stranded: 76, roundTripsPerAdmit: 4 });
    const leased = createLimiter({
      ...shared,
      link: { ...link, at: () => link } as Link,
      design: sharded({ shards: 16 }),
    });
    expect(leased.bounds()).toMatchObject({ overshoot: 0, stranded: 50 });
  });

  test("that a call can't cost more than one shard holds", async () => {
    const limiter = createLimiter({ ...shared, design: sharded({ shards: 16, split: "static" }) });
    expect(await limiter.limit("key", { cost: 7 })).toMatchObject({
      success: false,
      reason: "cost_exceeds_capacity",
      retryAfterMs: null,
    });
    const sliding = slidingWindow({ limit: 100, window: "1s" });
    const few = createLimiter({ ...shared, policy: sliding, design: sharded({ shards: 2, split: "static" }) });
    expect(await few.limit("key", { cost: 51 })).toMatchObject({ reason: "cost_exceeds_capacity" });
  });
});

describe("the number of shards", () => {
  test("grows with the load of one, at once, and halves when that has long been low", () => {
    const width = new Width(1000, 64);
    width.heard(900, 0);
    expect(width.shards).toBe(0);
    width.heard(1500, 10);
    expect(width.shards).toBe(4);
    // What it has just done hasn't shown yet.
    width.heard(1500, 20);
    expect(width.shards).toBe(4);
    width.heard(1500, 2010);
    expect(width.shards).toBe(8);
    width.heard(240, 3000);
    width.heard(240, 7900);
    expect(width.shards).toBe(8);
    width.heard(240, 8000);
    expect(width.shards).toBe(4);
    width.heard(20, 9000);
    width.heard(20, 14_000);
    expect(width.shards).toBe(0);
  });

  test("has an end", () => {
    const width = new Width(10, 64);
    for (let now = 0; now < 60_000; now += 1000) width.heard(1_000_000, now);
    expect(width.shards).toBe(64);
  });
});
