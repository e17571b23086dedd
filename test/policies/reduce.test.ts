import fc from "fast-check";
import { expect, test } from "vitest";
import { reduceRate } from "../../ts/policies/reduce.ts";

/** The largest p/q <= rate/per with p <= pMax, found by trying every p. */
function bruteForce(rate: number, per: number, pMax: number): { p: number; q: number } {
  let best = { p: 0, q: 1 };
  for (let p = 1; p <= pMax; p++) {
    const q = Math.ceil((p * per) / rate);
    if (p * best.q > best.p * q) best = { p, q };
  }
  return best;
}

test("the closest fraction from below, as trying them all finds it", () => {
  const count = fc.integer({ min: 1, max: 100_000 });
  fc.assert(
    fc.property(count, count, fc.integer({ min: 1, max: 60 }), (rate, per, pMax) => {
      const { p, q, exact } = reduceRate(rate, per, pMax);
      const best = bruteForce(rate, per, pMax);
      expect({ p, q }).toEqual(best);
      expect(exact).toBe(p * per === rate * q);
    }),
    { numRuns: 5000 },
  );
});

test("never above the rate, never reducible, however large", () => {
  const pMax = 2 ** 21;
  const large = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(large, fc.integer({ min: 1, max: 36_600 * 86_400_000 }), (rate, per) => {
      fc.pre(rate / per <= pMax);
      const { p, q } = reduceRate(rate, per, pMax);
      expect(p).toBeGreaterThanOrEqual(1);
      expect(p).toBeLessThanOrEqual(pMax);
      const [bigP, bigQ, bigRate, bigPer] = [p, q, rate, per].map(BigInt) as [bigint, bigint, bigint, bigint];
      expect(bigP * bigPer <= bigRate * bigQ).toBe(true);
      // Off by less than 1 part in 2^20: a token in a million, on the safe side.
      expect((bigRate * bigQ - bigP * bigPer) * 2n ** 20n < bigRate * bigQ).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
