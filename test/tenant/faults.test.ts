import { describe, expect, test } from "vitest";
import { type Mistake, moduleWith } from "../support/mutant.ts";
import { run, type Scenario, scenarioOf } from "./simulation.ts";

const NEVER = "tokenBucket:rate=1,per=365d,burst=300";
const again = (scenario: Scenario) => JSON.stringify(scenario);

describe("a plan and its endpoints, over anything that a seed can draw", () => {
  for (const [first, last] of [
    [1, 20],
    [21, 40],
    [41, 60],
  ] as const) {
    test(`neither is ever exceeded, and the plan is charged for all: seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const scenario = scenarioOf(seed);
        const { problems } = await run(scenario);
        expect(problems, again(scenario)).toEqual([]);
      }
    }, 300_000);
  }

  test("without faults the plan is charged for what was admitted, and for nothing else", async () => {
    let [capped, limited] = [0, 0];
    for (let seed = 1; seed <= 10; seed++) {
      const scenario = scenarioOf(seed, { faults: [], plan: NEVER, design: "exact" });
      const report = await run(scenario);
      expect(report.problems, again(scenario)).toEqual([]);
      expect(report.charged).toBe(report.admitted);
      capped += report.capped;
      limited += report.limited;
    }
    expect(capped).toBeGreaterThan(0);
    expect(limited).toBeGreaterThan(0);
  }, 300_000);
});

describe("the search catches", () => {
  const PLAN = "ts/ledger/plan.ts";

  /** What is wrong in the first run that finds it, and how many runs that took. */
  async function caughtBy(given: Partial<Scenario>, ...mistakes: Mistake[]) {
    const broken = await moduleWith<typeof import("./simulation.ts")>("test/tenant/simulation.ts", ...mistakes);
    for (let seed = 1; seed <= 40; seed++) {
      const { problems } = await broken.run(scenarioOf(seed, given));
      if (problems.length > 0) return { seed, problem: problems[0] as string };
    }
    return { seed: Number.POSITIVE_INFINITY, problem: "" };
  }

  const cases: [why: string, given: Partial<Scenario>, problem: RegExp, mistake: Mistake][] = [
    [
      "a plan that reserves nothing",
      { design: "exact" },
      /above the plan/,
      { file: PLAN, right: "const takes = Math.min(wanted.takes, free);", wrong: "const takes = wanted.takes;" },
    ],
    [
      "what the endpoint refused and the plan does not get back",
      { design: "exact", faults: [], plan: NEVER, rate: 300, costMax: 8 },
      /without faults \d+ were charged/,
      { file: PLAN, right: "tokens: held,", wrong: "tokens: own.tokens," },
    ],
    [
      "an endpoint that is asked before the reservation is stored",
      { design: "exact", faults: ["crashes"], plan: NEVER, rate: 300 },
      /charged for|above the plan/,
      { file: PLAN, right: "now, result, given > 0)", wrong: "now, result, false)" },
    ],
    [
      "totals that are added up from answers, so that a lost one is never charged",
      { design: "exact", faults: ["asks"], plan: NEVER, rate: 300 },
      /charged for|above the plan/,
      { file: PLAN, right: "run.book(Math.max(used, 0));", wrong: "" },
    ],
    [
      "a deleted endpoint whose leases are forgotten",
      { design: "lease", facets: true, faults: ["deletes"], rate: 300 },
      /above the plan|charged for/,
      { file: PLAN, right: "totals.fresh ? own.tokens - given : 0", wrong: "0" },
    ],
    [
      "an endpoint that starts its totals again after it was deleted",
      { design: "exact", facets: true, faults: ["deletes"], plan: NEVER, rate: 300 },
      /above the plan|charged for/,
      { file: "ts/ledger/child.ts", right: "used: Math.max(total.used, used)", wrong: "used: total.used" },
    ],
  ];
  for (const [why, given, problem, mistake] of cases) {
    test(why, async () => {
      const caught = await caughtBy(given, mistake);
      expect(caught.seed).toBeLessThanOrEqual(40);
      expect(caught.problem).toMatch(problem);
    }, 300_000);
  }
});
