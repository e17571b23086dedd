import { describe, expect, test } from "vitest";
import { commandOf, FAULT_KINDS, run, type Scenario, scenarioOf } from "../../ts/sim/index.ts";
import type { Mistake } from "../support/mutant.ts";
import { firstCaught } from "../support/search.ts";

const RIGHTS = "ts/ledger/rights.ts";
const LEASES = "ts/ledger/leases.ts";
const ALONE = "ts/link/alone.ts";

describe("overdrafts and shares, over anything that a seed can draw", () => {
  for (const [design, first, last] of [
    ["optimistic", 1, 60],
    ["optimistic", 61, 120],
    ["lease", 1001, 1100],
  ] as const) {
    test(`stay within what bounds() says: ${design}, seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const drawn = scenarioOf(seed, { design });
        const scenario = design === "lease" ? scenarioOf(seed, { design, ...sharing(drawn) }) : drawn;
        const { problems } = await run(scenario);
        expect(problems, commandOf(scenario)).toEqual([]);
      }
    });
  }
});

describe("without faults", () => {
  for (const policy of ["tokenBucket:rate=200,per=1s,burst=400", "slidingWindow:limit=1000,window=5s"]) {
    test(`nothing is admitted above the limit to speak of, and little is left: ${policy}`, async () => {
      const { utilization, overshoot, bounds } = await run({
        ...quiet(policy),
        ...{ demand: "steady", load: 3 },
      });
      expect(utilization).toBeGreaterThanOrEqual(0.95);
      expect(overshoot).toBeLessThanOrEqual(bounds.overshoot / 4);
    });
  }
});

describe("the search catches", () => {
  const caughtBy = (given: Partial<Scenario>, ...mistakes: Mistake[]) => firstCaught(60, given, mistakes);

  const cutOff: Partial<Scenario> = {
    ...{ policy: "tokenBucket:rate=100,per=1s,burst=50", pops: 5, slack: 1, demand: "steady", load: 8, costMax: 1 },
    ...{ durationMs: 12_000, rttMs: 40, durability: "strict", faults: ["cuts"] },
  } as const;
  const overdrawing: Partial<Scenario> = { ...cutOff, design: "optimistic:every=200,blind=500", onUnreachable: "deny" };
  const shares: Partial<Scenario> = { ...cutOff, design: "lease:ttl=500", onUnreachable: "share" };

  test("a debt that nobody is told of", async () => {
    const mistake = { file: LEASES, right: "Math.max(-free, 0)", wrong: "0 * free" };
    expect(await caughtBy(overdrawing, mistake)).toBeLessThanOrEqual(60);
  });

  test("an overdraft that is never booked", async () => {
    const mistake = { file: RIGHTS, right: "run.book(Math.max(sync.rights.overdrawn - had.overdrawn, 0));", wrong: "" };
    expect(await caughtBy(overdrawing, mistake)).toBeLessThanOrEqual(60);
  });

  test("an overdraft that grows for as long as its holder is cut off", async () => {
    const right = "Math.min(now - this.#sentAt, blindMs)";
    expect(await caughtBy(overdrawing, { file: ALONE, right, wrong: "(now - this.#sentAt)" })).toBeLessThanOrEqual(60);
  });

  test("rights for more holders than were counted on", async () => {
    const crowded = { ...overdrawing, slack: 0.4 };
    const mistake = { file: RIGHTS, right: "taken < request.pops", wrong: "taken >= 0" };
    expect(await caughtBy(crowded, mistake)).toBeLessThanOrEqual(60);
  });

  test("shares that nothing is reserved for", async () => {
    const mistake = { file: RIGHTS, right: "if (!rights.share ||", wrong: "if (rights.share ||" };
    expect(await caughtBy(shares, mistake)).toBeLessThanOrEqual(60);
  });

  test("shares that are reserved as if every answer had been heard", async () => {
    const mistake = {
      file: RIGHTS,
      right: "own && own.asked !== heard ? own.heardAt : ",
      wrong: "own && heard < 0 ? now : now + 0 * ",
    };
    expect(await caughtBy(shares, mistake)).toBeLessThanOrEqual(60);
  });
});

/** What is missing for shares of a token and more. */
function sharing({ policy, pops }: Scenario): Partial<Scenario> {
  return {
    onUnreachable: "share",
    policy: pops > 5 ? "tokenBucket:rate=40,per=1s,burst=200" : policy,
    slack: 1,
    faults: FAULT_KINDS,
  };
}

function quiet(policy: string): Scenario {
  return {
    ...scenarioOf(1),
    ...{ design: "optimistic", policy, pops: 8, slack: 1, costMax: 1, rttMs: 40, durationMs: 20_000, faults: [] },
  };
}
