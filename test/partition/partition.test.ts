// Partitions between real processes: whatever the network does, none above the limit. The runs
// print what else they saw. Another design: DESIGN=exact npm run bench:partition
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Decision } from "../../ts/contract.ts";
import { BUDGETS, POLICIES } from "./budgets.ts";
import { Figures } from "./figures.ts";
import { Fleet } from "./fleet.ts";
import { certainOvershoot } from "./judge.ts";
import { admitted, type Call, tokens } from "./load.ts";
import { FAULTS, type FaultName, POPS, run, type Seen } from "./run.ts";

const SEED = 1;
const { DESIGN: design = "lease:ttl=2s" } = process.env;
const isExact = design.startsWith("exact");
const figures = new Figures();
afterAll(() => console.log(`${design}\n${figures.table()}`));

test("a lease is renewed though nobody waits for it, and nothing is sent twice", async () => {
  const fleet = await Fleet.start({ pops: 1, design: "lease:ttl=2s", deadline: "20s" });
  try {
    for (let call = 0; call < 60; call++) {
      await fleet.ask(0, "limit", "bucket", "cost=1");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await fleet.ask(0, "stats", "bucket")).toMatchObject({ admitted: 60, retries: 0, expired: 0 });
  } finally {
    await fleet.dispose();
  }
});

test("a PoP that nobody calls any more hands back what it holds", async () => {
  const fleet = await Fleet.start({ pops: 2, design: "lease:ttl=2s", deadline: "1s" });
  try {
    let left = POLICIES.finite.capacity;
    let lost = -1;
    // A machine that is held up may once be too late to return a lease before it ends.
    for (let round = 0; round < 3 && lost !== 0; round++) {
      lost = left;
      for (let call = 0; call < 40; call++) {
        const { success } = await fleet.ask<Decision>(0, "limit", "finite", "cost=5");
        if (success) lost -= 5;
      }
      await new Promise((resolve) => setTimeout(resolve, 6500));
      left = (await fleet.ask<Decision>(1, "peek", "finite")).remaining;
      lost -= left;
    }
    expect(lost).toBe(0);
  } finally {
    await fleet.dispose();
  }
});

describe.each(Object.keys(FAULTS) as FaultName[])(`${design}: %s`, (fault) => {
  let seen: Seen;
  beforeAll(async () => {
    seen = await run({ fault, design, deadline: "1s", seed: SEED });
    figures.add(fault, seen);
  }, 120_000);

  /** What the PoPs that are cut off decided when all that they knew was too old. */
  const blind = () => {
    const { calls, bounds, begunAt, endedAt } = seen;
    return calls.filter(({ pop, budget, start, end }) => {
      if (!(FAULTS[fault].cutOff as readonly number[]).includes(pop)) return false;
      return start > begunAt + bounds[budget].stalenessMs && end <= endedAt;
    });
  };

  test.each(BUDGETS)("%s: admits none above the limit in any interval", (budget) => {
    const over = certainOvershoot(POLICIES[budget].spec, admitted(seen.calls, budget));
    expect(over).toBeLessThanOrEqual(seen.bounds[budget].overshoot);
  });

  test("the ledger has charged what callers were told, and not much else", () => {
    const finite = seen.calls.filter(({ budget }) => budget === "finite");
    const told = tokens(admitted(finite, "finite"));
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThanOrEqual(seen.charged + seen.bounds.finite.overshoot);
    // What was under way when it was cut may have been charged, and a lease of each PoP lost.
    const unanswered = tokens(finite.filter(({ decision }) => !decision || decision.reason === "unreachable"));
    if (isHeldUp(seen.calls, seen.staleMs)) return;
    expect(seen.charged).toBeLessThanOrEqual(told + unanswered + (isExact ? 0 : leasesMost(finite, seen.staleMs)));
  });

  test("who is cut off admits nothing by what is too old, and says why", () => {
    const late = blind();
    if (FAULTS[fault].cutOff.length > 0 && seen.bounds.bucket.stalenessMs === seen.staleMs)
      expect(late.length).toBeGreaterThan(0);
    expect(late.filter(({ decision }) => decision?.success)).toEqual([]);
    const reasons = new Set(late.map(({ decision }) => decision?.reason));
    expect([...reasons].filter((reason) => reason !== "unreachable" && reason !== "limited")).toEqual([]);
  });

  test.runIf(!isExact && FAULTS[fault].cutOff.length > 0)("who is cut off goes on with what it holds", () => {
    const { calls, begunAt } = seen;
    const alone = calls.filter(({ pop, start, decision }) => pop === 0 && start > begunAt && decision?.success);
    expect(alone.filter(({ end }) => end < seen.endedAt).map(({ decision }) => decision?.source)).toContain("lease");
  });

  test("all is as before when it is over", () => {
    expect(seen.recovered).toBe(true);
    const silent = seen.calls.filter(({ decision }) => decision === null);
    expect(fault === "kill a PoP" ? silent.filter(({ pop }) => pop !== 0) : silent).toEqual([]);
  });
});

/** Whether even a PoP in reach waited long for the machine. It may then have come too late to renew a lease. */
function isHeldUp(calls: readonly Call[], ttlMs: number): boolean {
  return calls.some(
    ({ pop, tookMs, decision }) => pop === POPS - 1 && decision?.source === "lease" && tookMs > ttlMs / 4,
  );
}

/** A holder asks for what it was asked for in half a ttl: no lease is above what came in a whole one. */
function leasesMost(calls: readonly Call[], ttlMs: number): number {
  let sum = 0;
  for (let nth = 0; nth < POPS; nth++) {
    const own = calls.filter(({ pop }) => pop === nth).sort((a, b) => a.start - b.start);
    let most = 0;
    for (const { start } of own) {
      most = Math.max(most, tokens(own.filter((call) => call.start >= start && call.start < start + ttlMs)));
    }
    sum += most;
  }
  return sum;
}
