import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { createLimiter } from "../../ts/index.ts";
import { policyOf } from "../../ts/policies/spec.ts";
import { twinDecider } from "../support/twin.ts";

interface Step {
  now: number;
  cost: number;
  success: boolean;
  remaining: number;
  retryAfterMs: number | null;
  reset: number;
}

const cases: { policy: PolicySpec; steps: Step[] }[] = JSON.parse(
  readFileSync(new URL("../vectors/policies.json", import.meta.url), "utf8"),
);

// The right answers come from an independent oracle in exact rational arithmetic.
describe("every right answer of the oracle", () => {
  test("there are 120 cases and 7,200 decisions", () => {
    expect(cases.length).toBe(120);
    expect(cases.reduce((sum, { steps }) => sum + steps.length, 0)).toBe(7200);
  });

  for (const [index, { policy: spec, steps }] of cases.entries()) {
    test(`case ${index}: ${JSON.stringify(spec)}`, () => {
      let now = 0;
      const limiter = createLimiter({ policy: policyOf(spec), clock: { now: () => now } });
      const twin = twinDecider(policyOf(spec));
      for (const expected of steps) {
        now = expected.now;
        const { success, remaining, retryAfterMs, reset } = limiter.limitSync("key", { cost: expected.cost });
        expect({ now, cost: expected.cost, success, remaining, retryAfterMs, reset }).toEqual(expected);
        expect({ now, cost: expected.cost, ...twin(now, expected.cost) }).toEqual(expected);
      }
    });
  }
});
