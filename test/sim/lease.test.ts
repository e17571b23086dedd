import { describe, expect, test } from "vitest";
import { commandOf, run, type Scenario, scenarioOf } from "../../ts/sim/index.ts";
import { type Mistake, simulatorWith } from "../support/mutant.ts";
import { firstCaught } from "../support/search.ts";

const LEASES = "ts/ledger/leases.ts";
const HOLD = "ts/link/lease-hold.ts";
const lease = { design: "lease" };

describe("leases, over anything that a seed can draw", () => {
  for (const [first, last] of [
    [1, 100],
    [101, 200],
    [201, 300],
  ] as const) {
    test(`never admit more than the policy, nor strand more than half of it: seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const scenario = scenarioOf(seed, lease);
        const { problems } = await run(scenario);
        expect(problems, commandOf(scenario)).toEqual([]);
      }
    });
  }
});

describe("leases without faults, when more is asked for than there is", () => {
  for (const pops of [8, 40]) {
    for (const policy of ["tokenBucket:rate=200,per=1s,burst=400", "slidingWindow:limit=1000,window=5s"]) {
      test(`admit 95 % of what can be, for three round trips a block: ${pops} PoPs, ${policy}`, async () => {
        const { utilization, roundTripsPerAdmit } = await run({
          ...scenarioOf(1),
          design: "lease",
          ...{ policy, pops, demand: "steady", load: 3, costMax: 1, rttMs: 40, durationMs: 20_000, faults: [] },
        });
        // A holder's part of half the capacity, or of what half a ttl refills.
        const half = policy.startsWith("token") ? 200 : 50;
        expect(utilization).toBeGreaterThanOrEqual(0.95);
        expect(roundTripsPerAdmit).toBeLessThanOrEqual(3 / Math.max(Math.floor(half / pops), 1));
      });
    }
  }
});

describe("the search catches", () => {
  const caughtBy = (given: Partial<Scenario>, ...mistakes: Mistake[]) => firstCaught(100, given, mistakes);

  test("tokens booked when they are granted, so that the bucket fills up behind them", async () => {
    const seed = await caughtBy(
      lease,
      { file: LEASES, right: "run.leased = others.reduce(", wrong: "void others.reduce(" },
      { file: LEASES, right: "run.book(spent)", wrong: "" },
      { file: LEASES, right: "run.leased += granted", wrong: "run.book(granted)" },
      { file: LEASES, right: "let tokens = wanted", wrong: "let tokens = 0" },
      { file: LEASES, right: "policies.map(() => left.tokens)", wrong: "policies.map(() => 0)" },
    );
    expect(seed).toBeLessThanOrEqual(100);
  });

  test("tokens of an expired lease credited back", async () => {
    const seed = await caughtBy(lease, {
      file: LEASES,
      right: "policies.map(() => left.tokens)",
      wrong: "policies.map(() => 0)",
    });
    expect(seed).toBeLessThanOrEqual(100);
  });

  test("the ledger's time compared with the holder's clock", async () => {
    // A holder that can act returns what it doesn't need long before that: it takes one that is
    // kept from it, and a clock that was set back.
    const faults = ["cuts", "freezes", "steps"] as const;
    const seed = await caughtBy(
      { ...lease, demand: "greedy", load: 3, pops: 5, durationMs: 16_000, faults },
      {
        file: LEASES,
        right: "    ttlMs,\n    later: keptLater",
        wrong: "    ttlMs: now + longestMs,\n    later: keptLater",
      },
      {
        file: HOLD,
        right: "const end = sentAt + reply.ttlMs",
        wrong: "const end = reply.ttlMs",
      },
      {
        file: "ts/holders/lease-holder.ts",
        right: "this.#ambient = ambient",
        wrong: "this.#ambient = { ...ambient, monotonic: ambient.now }",
      },
    );
    expect(seed).toBeLessThanOrEqual(100);
  });

  test.each([
    ["tokens that are forgotten to be spent when they come back from the table", "this.spend(spent);", ""],
    ["an answer taken up without what was spent meanwhile", "this.recall(now);\n    super.arrived(", "super.arrived("],
  ])("%s", async (_, right, wrong) => {
    expect(await caughtBy(lease, { file: "ts/link/tabled-hold.ts", right, wrong })).toBeLessThanOrEqual(100);
  });

  // A window that ends is where a moment too long shows: what it has booked is spent in the next.
  const windows: Partial<Scenario> = {
    ...{ ...lease, policy: "fixedWindow:limit=100,window=1s", design: "lease:ttl=1s", pops: 3, slack: 1 },
    ...{ demand: "steady", costMax: 1, durationMs: 12_000, durability: "strict", onUnreachable: "deny" },
  };

  test("a ledger that doesn't wait for clocks that run slow", async () => {
    const file = "ts/ledger/guard.ts";
    const seed = await caughtBy(
      { ...windows, load: 1.5, rttMs: 4, faults: ["drift", "cuts", "freezes"] },
      { file, right: "Math.ceil(ms * 1.02) + 50", wrong: "ms" },
      { file, right: "Math.max(Math.floor((ms - 50) / 1.02), 0)", wrong: "ms" },
    );
    expect(seed).toBeLessThanOrEqual(100);
  });

  test("a lease that counts from when it arrives", async () => {
    const seed = await caughtBy(
      { ...windows, load: 3, rttMs: 160, faults: ["jitter", "cuts", "freezes"] },
      { file: HOLD, right: "sentAt + reply.ttlMs", wrong: "now + reply.ttlMs" },
    );
    expect(seed).toBeLessThanOrEqual(100);
  });

  test("a lease that never ends for its holder, by how old what it goes by is", async () => {
    const right = "return now < this.end ? this.tokens : 0";
    const broken = await simulatorWith({ file: HOLD, right, wrong: "return this.tokens" });
    const scenario = scenarioOf(1, { design: "lease:ttl=2s", onUnreachable: "deny" });
    expect((await broken.run(scenario)).problems).toContainEqual(expect.stringMatching(/^a lease told of .* ms ago/));
    const { stalenessMs } = await run(scenario);
    expect(stalenessMs).toBeGreaterThan(0);
    expect(stalenessMs).toBeLessThanOrEqual(2000 / 0.99);
  });
});
