import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fixedWindow, type Policy, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { overshootOf } from "../../ts/sim/checkers.ts";
import { certainOvershoot, type Span } from "./judge.ts";

const POLICIES: Policy[] = [
  tokenBucket({ rate: 3, per: 100, burst: 7 }),
  fixedWindow({ limit: 7, window: 100 }),
  slidingWindow({ limit: 7, window: 100 }),
];
const admissions = fc
  .array(fc.record({ at: fc.nat(1000), cost: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 60 })
  .map((some) => some.sort((a, b) => a.at - b.at));

describe.each(POLICIES)("the judge of a $kind", ({ spec }) => {
  test("says what the simulator's says of calls that take no time", () => {
    fc.assert(
      fc.property(admissions, (some) => {
        const spans = some.map(({ at, cost }) => ({ start: at, end: at, cost }));
        expect(certainOvershoot(spec, spans)).toBeCloseTo(overshootOf(spec, some), 9);
      }),
    );
  });

  test("never says more than is true of the times at which slow calls were admitted", () => {
    const slow = fc.array(fc.tuple(fc.nat(300), fc.nat(300)), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(admissions, slow, (some, waits) => {
        const spans = some.map(({ at, cost }, nth): Span => {
          const [before, after] = waits[nth] as [number, number];
          return { start: at - before, end: at + after, cost };
        });
        expect(certainOvershoot(spec, spans)).toBeLessThanOrEqual(overshootOf(spec, some) + 1e-9);
      }),
    );
  });
});
