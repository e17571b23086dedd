import { describe, expect, test } from "vitest";
import { FAULTS, run, type Scenario, scenarioOf } from "./simulation.ts";

const again = (scenario: Scenario) => JSON.stringify(scenario);

describe("a plan and its endpoints, over anything that a seed can draw", () => {
  for (const [first, last] of [
    [1, 100],
    [101, 200],
    [201, 300],
  ] as const) {
    test(`neither is ever exceeded, and the plan is charged for all: seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const scenario = scenarioOf(seed);
        const { problems } = await run(scenario);
        expect(problems, again(scenario)).toEqual([]);
      }
    });
  }

  test("without faults the plan is charged for what was admitted, and for nothing else", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const scenario = scenarioOf(seed, { faults: [], plan: "tokenBucket:rate=1,per=365d,burst=300" });
      const { problems, charged, admitted } = await run(scenario);
      expect(problems, again(scenario)).toEqual([]);
      expect(charged).toBe(admitted);
    }
  });
  expect(FAULTS.length).toBe(10);
});
