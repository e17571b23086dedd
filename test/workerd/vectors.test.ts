import { expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { createLimiter } from "../../ts/index.ts";
import { policyOf } from "../../ts/policies/spec.ts";
import cases from "../vectors/policies.json";

test("every right answer of the oracle, inside workerd", () => {
  for (const { policy, steps } of cases) {
    let now = 0;
    const limiter = createLimiter({ policy: policyOf(policy as PolicySpec), clock: { now: () => now } });
    for (const expected of steps) {
      now = expected.now;
      const { success, remaining, retryAfterMs, reset } = limiter.limitSync("key", { cost: expected.cost });
      expect({ now, cost: expected.cost, success, remaining, retryAfterMs, reset }).toEqual(expected);
    }
  }
});
