import { describe, expect, test } from "vitest";
import { local, strict, tokenBucket } from "../../ts/index.ts";
import { commandOf, run, type Scenario, scenarioOf, shrink, simulate } from "../../ts/sim/index.ts";
import { simulatorWith } from "../support/mutant.ts";

const fails = async (scenario: Scenario) => (await run(scenario)).problems.length > 0;

describe("exact, over anything that a seed can draw", () => {
  test("never admits more than the policy", async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const scenario = scenarioOf(seed, { design: "exact" });
      const { problems } = await run(scenario);
      expect(problems, commandOf(scenario)).toEqual([]);
    }
  });

  test("admits all that can be, and each call costs at most one round trip, without faults", async () => {
    const { utilization, roundTripsPerAdmit } = await run(
      scenarioOf(1, { design: "exact", faults: [], load: 0.5, demand: "steady", rttMs: 4, costMax: 1 }),
    );
    expect(utilization).toBe(1);
    expect(roundTripsPerAdmit).toBeLessThanOrEqual(1);
  });
});

describe("the simulator", () => {
  test("repeats a run to the last number", async () => {
    for (const seed of [3, 4]) {
      const scenario = scenarioOf(seed, { design: "exact" });
      expect(await run(scenario)).toEqual(await run(scenario));
    }
  });

  test("catches a ledger that answers before it has stored, and finds a small run that shows it", async () => {
    const broken = await simulatorWith({
      file: "ts/ledger/keeper.ts",
      right: 'durability.mode === "strict" ||',
      wrong: "",
    });
    const brokenFails = async (scenario: Scenario) => (await broken.run(scenario)).problems.length > 0;
    let seed = 1;
    while (!(await brokenFails(scenarioOf(seed, { design: "exact", durability: "strict" })))) seed++;
    expect(seed).toBeLessThanOrEqual(40);
    const failing = scenarioOf(seed, { design: "exact", durability: "strict" });
    const smallest = await shrink(failing, brokenFails);
    expect(await brokenFails(smallest)).toBe(true);
    expect(await fails(smallest)).toBe(false);
    expect(smallest.faults).toEqual(["ledgerCrashes"]);
    expect(commandOf(smallest)).toMatch(/^npm run sim -- --seed \d+ --design exact .* --faults ledgerCrashes$/);
  });

  test("judges limiters of their own policies by the whole one", async () => {
    const whole = tokenBucket({ rate: 100, burst: 100 });
    const part = tokenBucket({ rate: 100, per: "5s", burst: 20 });
    const options = {
      ...{ seed: 1, policies: [whole], design: local(), pops: 5, durationMs: 8000, rttMs: 40, faults: [] },
      ...{
        demand: { kind: "steady" as const, load: 3, costMax: 1 },
        durability: strict(),
        onUnreachable: "deny" as const,
      },
    };
    expect((await simulate({ ...options, own: [part] })).overshoot).toBeLessThanOrEqual(0);
    expect((await simulate(options)).overshoot).toBeGreaterThan(100);
  });
});
