import { describe, expect, test } from "vitest";
import { commandOf, FAULT_KINDS, run, type Scenario, scenarioOf } from "../../ts/sim/index.ts";
import { simulatorWith } from "../support/mutant.ts";

describe("sharded, over anything that a seed can draw", () => {
  for (const [first, last] of [
    [1, 75],
    [76, 150],
  ] as const) {
    test(`never admits more than the policy, leased, static or by itself: seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const scenario = scenarioOf(seed, { design: "sharded" });
        const { problems } = await run(scenario);
        expect(problems, commandOf(scenario)).toEqual([]);
      }
    });
  }
});

/** More is asked for than there is, without faults. */
const hot: Scenario = {
  ...scenarioOf(1, { policy: "tokenBucket:rate=400,per=1s,burst=400", demand: "steady", load: 1.5, pops: 16 }),
  ...{ costMax: 1, rttMs: 40, durationMs: 20_000, faults: [], durability: "strict" },
};

describe("one shard that gets all the calls", () => {
  for (const policy of [hot.policy, "fixedWindow:limit=2000,window=5s", "slidingWindow:limit=2000,window=5s"]) {
    test(`admits 98 % of the limit where shards lease: ${policy}`, async () => {
      const { utilization, overshoot } = await run({ ...hot, policy, pops: 1, design: "sharded:shards=16" });
      expect(utilization).toBeGreaterThanOrEqual(0.98);
      expect(overshoot).toBeLessThanOrEqual(0);
    });
  }

  for (const shards of [4, 16]) {
    test(`admits its part where the split is static, and with retries that of as many more: ${shards} shards`, async () => {
      const design = `sharded:shards=${shards},split=static,route=pinned`;
      const alone = await run({ ...hot, pops: 1, design: `${design},retries=0` });
      expect(alone.utilization).toBeCloseTo(1 / shards, 2);
      const helped = await run({ ...hot, pops: 1, design: `${design},retries=1` });
      expect(helped.utilization).toBeCloseTo(2 / shards, 2);
    });
  }
});

test("skew over leased shards costs next to nothing", async () => {
  for (const demand of ["skewed", "hotspot"] as const) {
    const { utilization } = await run({ ...hot, pops: 8, demand, durationMs: 30_000, design: "sharded:shards=8" });
    expect(utilization, demand).toBeGreaterThanOrEqual(0.98);
  }
});

describe("a key that grows hot and cools", () => {
  test("is split and joined again without a moment above the policy", async () => {
    const surge: Scenario = {
      ...hot,
      policy: "tokenBucket:rate=100,per=1s,burst=100",
      demand: "surge",
      load: 1.5,
      durationMs: 30_000,
    };
    for (let seed = 1; seed <= 4; seed++) {
      const faults = seed % 2 === 0 ? FAULT_KINDS : [];
      const report = await run({ ...surge, seed, faults, design: "sharded:shards=auto,splitAt=20" });
      expect(report.problems).toEqual([]);
      expect(report.overshoot).toBeLessThanOrEqual(0);
      expect(report.shards.most).toBeGreaterThanOrEqual(2);
      if (seed % 2 === 1) expect(report.shards.last).toBeLessThanOrEqual(report.shards.most / 4);
    }
  });

  test("is asked at home while it is cool", async () => {
    const report = await run({ ...hot, load: 0.5, design: "sharded:shards=auto,splitAt=100000" });
    expect(report.middleRequests).toBe(0);
    expect(report.utilization).toBe(1);
  });
});

describe("the search catches", () => {
  test("bursts that sum to more than the limit", async () => {
    const broken = await simulatorWith({
      file: "ts/holders/sharded-split.ts",
      right: "nth < tokens % shards",
      wrong: "tokens % shards > 0",
    });
    let seed = 1;
    const given = { design: "sharded:shards=7,split=static", load: 3, costMax: 1 };
    while (seed <= 100 && (await broken.run(scenarioOf(seed, given))).overshoot <= 0) seed++;
    expect(seed).toBeLessThanOrEqual(100);
  });
});
