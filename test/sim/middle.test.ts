import { describe, expect, test } from "vitest";
import { commandOf, run, type Scenario, scenarioOf } from "../../ts/sim/index.ts";
import type { Mistake } from "../support/mutant.ts";
import { firstCaught } from "../support/search.ts";

const POOL = "ts/middle/pool.ts";

describe("regions between isolates and home, over anything that a seed can draw", () => {
  for (const [design, regions] of [
    ["lease", 3],
    ["exact", 2],
  ] as const) {
    test(`never admit more than the policy: ${design} in ${regions}`, async () => {
      for (let seed = 1; seed <= 75; seed++) {
        const scenario = scenarioOf(seed, { design, regions });
        const { problems } = await run(scenario);
        expect(problems, commandOf(scenario)).toEqual([]);
      }
    });
  }
});

test("isolates that live for seconds ask home a fifth as often where they have a region", async () => {
  const short: Scenario = {
    ...scenarioOf(1, { policy: "tokenBucket:rate=400,per=1s,burst=800", demand: "steady", load: 0.5 }),
    ...{ design: "lease", pops: 120, lifeMs: 5000, costMax: 1, rttMs: 80, durationMs: 10_000, faults: [] },
  };
  const flat = await run(short);
  const tree = await run({ ...short, regions: 6 });
  expect([flat.problems, tree.problems]).toEqual([[], []]);
  expect(tree.utilization).toBeGreaterThanOrEqual(Math.max(flat.utilization - 0.01, 0.97));
  expect(tree.roundTripsPerAdmit).toBeLessThanOrEqual(flat.roundTripsPerAdmit / 5);
});

describe("the search catches", () => {
  const caughtBy = (given: Partial<Scenario>, ...mistakes: Mistake[]) => firstCaught(100, given, mistakes);

  test("a lease that outlives the one that it was granted out of", async () => {
    const given = {
      policy: "fixedWindow:limit=100,window=2s",
      demand: "greedy",
      load: 3,
      pops: 5,
      durationMs: 16_000,
    } as const;
    const faults = ["cuts", "ledgerCrashes"] as const;
    const seed = await caughtBy(
      { ...given, design: "lease:ttl=5s", regions: 2, durability: "strict", costMax: 1, rttMs: 40, faults } as const,
      { file: POOL, right: "return Math.max(this.end - now, 0);", wrong: "return Number.POSITIVE_INFINITY;" },
    );
    expect(seed).toBeLessThanOrEqual(100);
  });

  test("tokens of a holder that fell silent, taken for unused", async () => {
    const seed = await caughtBy(
      { design: "lease", regions: 2, load: 3, durability: "strict" },
      { file: POOL, right: "if (end <= now) this.book(tokens);", wrong: "if (end < 0) this.book(tokens);" },
    );
    expect(seed).toBeLessThanOrEqual(100);
  });
});
