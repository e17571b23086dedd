import fc from "fast-check";
import { expect, test } from "vitest";
import { addressesOf } from "../../ts/link/address.ts";
import { Denials } from "../../ts/link/denials.ts";
import { policyOf } from "../../ts/policies/spec.ts";
import { twinDecider } from "../support/twin.ts";

const spec = fc.oneof(
  fc.record({
    kind: fc.constant("tokenBucket" as const),
    rate: fc.integer({ min: 1, max: 9 }),
    per: fc.constantFrom(10, 1000),
    burst: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({
    kind: fc.constant("fixedWindow" as const),
    limit: fc.integer({ min: 1, max: 9 }),
    window: fc.constantFrom(10, 1000),
  }),
  fc.record({
    kind: fc.constant("slidingWindow" as const),
    limit: fc.integer({ min: 1, max: 9 }),
    window: fc.constantFrom(10, 1000),
    resolution: fc.constant(1),
  }),
);
const call = fc.record({
  cost: fc.integer({ min: 1, max: 9 }),
  afterMs: fc.integer({ min: 0, max: 300 }),
  // The round trip, and where in it the ledger decides.
  rttMs: fc.integer({ min: 0, max: 40 }),
  part: fc.integer({ min: 0, max: 40 }),
});

test("a remembered refusal is one that the ledger would give as well", () => {
  fc.assert(
    fc.property(spec, fc.array(call, { maxLength: 80 }), (spec, calls) => {
      const ledger = twinDecider(policyOf(spec));
      const denials = new Denials(10);
      let now = 5000;
      for (const { cost, afterMs, rttMs, part } of calls) {
        now += afterMs;
        const known = denials.find("key", cost, now);
        const decidedAt = now + Math.min(part, rttMs);
        if (known) {
          const truth = ledger(now, cost, false);
          expect(truth.success).toBe(false);
          expect(truth.retryAfterMs === null || truth.retryAfterMs >= (known.retryAfterMs as number)).toBe(true);
          expect(known.remaining).toBeLessThanOrEqual(truth.remaining);
          continue;
        }
        const { success, retryAfterMs, remaining, reset } = ledger(decidedAt, cost);
        if (!success)
          denials.add("key", cost, now, { admitted: false, remaining, retryAfterMs, resetMs: reset - decidedAt });
        now += rttMs;
      }
    }),
    { numRuns: 3000 },
  );
});

test("a refusal says nothing of smaller costs, ends with its time, and can be forgotten", () => {
  const denials = new Denials(2);
  const refused = { admitted: false, remaining: 1, retryAfterMs: 100, resetMs: 300 };
  denials.add("a", 3, 1000, refused);
  expect(denials.find("a", 2, 1050)).toBeNull();
  expect(denials.find("a", 4, 1050)).toEqual({ admitted: false, remaining: 0, retryAfterMs: 50, resetMs: 250 });
  expect(denials.find("a", 3, 1100)).toBeNull();
  denials.add("a", 3, 1000, refused);
  denials.forget("a");
  expect(denials.find("a", 3, 1050)).toBeNull();
  for (const key of ["a", "b", "c"]) denials.add(key, 1, 1000, refused);
  expect([denials.find("a", 1, 1001), denials.find("b", 1, 1001) !== null]).toEqual([null, true]);
  denials.add("d", 1, 1000, { ...refused, retryAfterMs: null });
  expect(denials.find("d", 1, 1001)).toBeNull();
});

test("no two pairs of name and key share an address, and every address is well-formed", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", minLength: 1 }),
    fc.string({
      unit: fc.constantFrom("\0", "\ud800", "\udc00", "=", "~", "1", '"', "\\", "a", "é"),
      minLength: 1,
      maxLength: 5,
    }),
  );
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(text, text, (name, key) => {
      const address = addressesOf(name)(key);
      expect(new TextDecoder().decode(new TextEncoder().encode(address))).toBe(address);
      expect(address).not.toContain("\0");
      const pair = JSON.stringify([name, key]);
      expect(seen.get(address) ?? pair).toBe(pair);
      seen.set(address, pair);
    }),
    { numRuns: 20_000 },
  );
});
