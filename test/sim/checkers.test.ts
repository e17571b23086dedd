import fc from "fast-check";
import { expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { type Admission, clairvoyant, overshootOf } from "../../ts/sim/checkers.ts";

const admissions = fc
  .array(fc.record({ afterMs: fc.integer({ min: 0, max: 12 }), cost: fc.integer({ min: 1, max: 5 }) }), {
    minLength: 1,
    maxLength: 40,
  })
  .map((steps) => {
    let at = 1_000_003;
    return steps.map(({ afterMs, cost }): Admission => {
      at += afterMs;
      return { at, cost };
    });
  });
const policies: fc.Arbitrary<PolicySpec> = fc.oneof(
  fc.record({
    kind: fc.constant("tokenBucket" as const),
    rate: fc.integer({ min: 1, max: 9 }),
    per: fc.integer({ min: 1, max: 20 }),
    burst: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({
    kind: fc.constant("fixedWindow" as const),
    limit: fc.integer({ min: 1, max: 20 }),
    window: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({
    kind: fc.constant("slidingWindow" as const),
    limit: fc.integer({ min: 1, max: 20 }),
    window: fc.integer({ min: 1, max: 30 }),
    resolution: fc.constant(1),
  }),
);

/** By trying every interval. */
function bruteForce(spec: PolicySpec, admissions: readonly Admission[]): number {
  const within = (from: number, to: number) =>
    admissions.filter(({ at }) => at >= from && at <= to).reduce((sum, { cost }) => sum + cost, 0);
  let worst = Number.NEGATIVE_INFINITY;
  for (const { at: to } of admissions) {
    if (spec.kind === "fixedWindow") {
      const start = to - (to % spec.window);
      worst = Math.max(worst, within(start, start + spec.window - 1) - spec.limit);
    } else if (spec.kind === "slidingWindow") {
      worst = Math.max(worst, within(to - spec.window + 1, to) - spec.limit);
    } else {
      for (const { at: from } of admissions) {
        if (from > to) continue;
        worst = Math.max(worst, within(from, to) - spec.burst - (spec.rate * (to - from)) / spec.per);
      }
    }
  }
  return worst;
}

test("the worst interval is the one that a look at all of them finds", () => {
  fc.assert(
    fc.property(policies, admissions, (spec, admissions) => {
      expect(overshootOf(spec, admissions)).toBeCloseTo(bruteForce(spec, admissions), 6);
    }),
    { numRuns: 2000 },
  );
});

test("a limiter that sees all calls stays within the policy, and refuses none that fits", () => {
  fc.assert(
    fc.property(policies, admissions, (spec, calls) => {
      const admitted: Admission[] = [];
      for (const call of calls) {
        const before = clairvoyant([spec], calls.slice(0, calls.indexOf(call)));
        const after = clairvoyant([spec], calls.slice(0, calls.indexOf(call) + 1));
        if (after > before) admitted.push(call);
        else expect(bruteForce(spec, [...admitted, call])).toBeGreaterThan(0);
      }
      if (admitted.length > 0) expect(bruteForce(spec, admitted)).toBeLessThanOrEqual(1e-9);
    }),
    { numRuns: 300 },
  );
});
