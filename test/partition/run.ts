// One run: a calm fleet, a fault under stress, and calm again. Gives what was seen of it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Bounds, Decision } from "../../ts/contract.ts";
import { BUDGETS, type Budget, FIXED_MS, POLICIES } from "./budgets.ts";
import { Fleet } from "./fleet.ts";
import { type Call, Load } from "./load.ts";

export const POPS = 3;
/** PoPs that most faults cut off: a busy one, and one whose callers nearly all go away then. */
const CUT = [0, 1];
/** Calls a second on each budget at each PoP. In stress the PoP in reach is asked for more than there is. */
const CALM = [16, 6, 4];
const STRESS = [16, 1, 45];
const CALM_MS = 1500;
/** Faults outlast all that a PoP knows, up to this: some designs go on for as long as one likes. */
const STALE_MS_MAX = 2000;
/** Longest that a fleet may take to be calm. */
const PATIENCE_MS = 30_000;

export interface Fault {
  /** PoPs that hear nothing from home meanwhile. */
  cutOff: readonly number[];
  begin(fleet: Fleet, load: Load): Promise<void> | void;
  end(fleet: Fleet, load: Load): Promise<void> | void;
}

const heal = (fleet: Fleet) => {
  for (const { way } of fleet.pops) way.heal();
};
const onWays = (act: (way: Fleet["pops"][number]["way"]) => void): Fault => ({
  cutOff: CUT,
  begin: (fleet) => {
    for (const nth of CUT) act((fleet.pops[nth] as Fleet["pops"][number]).way);
  },
  end: heal,
});

export const FAULTS = {
  /** Connections are reset, and refused. */
  cut: onWays((way) => way.cut()),
  /** Nothing arrives, and nothing is said. */
  swallow: onWays((way) => way.swallow()),
  /** What is asked arrives, and no answer does. */
  "swallow answers": onWays((way) => way.swallowAnswers()),
  /** All takes 100 ms longer each way. */
  delay: { ...onWays((way) => way.delay(100)), cutOff: [] },
  "kill home": {
    cutOff: [0, 1, 2],
    begin: (fleet) => fleet.home.kill(),
    end: (fleet) => fleet.restartHome(),
  },
  "kill a PoP": {
    cutOff: [],
    async begin(fleet, load) {
      const [busy] = fleet.pops as [Fleet["pops"][number]];
      await busy.process.kill();
      load.down(0);
      await busy.process.start();
      load.up(0, busy.process.url);
    },
    end: () => {},
  },
} satisfies Record<string, Fault>;
export type FaultName = keyof typeof FAULTS;

export interface RunOptions {
  fault: FaultName;
  /** Like "lease:ttl=2s". */
  design: string;
  deadline: string;
  seed: number;
}

/** What was seen of a run. Times are epoch ms. */
export interface Seen {
  calls: readonly Call[];
  bounds: Record<Budget, Bounds>;
  /** How long leases last. */
  staleMs: number;
  /** When the fault had begun, when its end began, and when it was over. */
  begunAt: number;
  endedAt: number;
  overAt: number;
  /** Whether every PoP heard of each ledger when it was over. */
  recovered: boolean;
  /** Tokens of the finite budget that its ledger has charged. */
  charged: number;
}

export async function run({ fault: name, design, deadline, seed }: RunOptions): Promise<Seen> {
  const fault: Fault = FAULTS[name];
  const fleet = await Fleet.start({ pops: POPS, design, deadline });
  try {
    const bounds = await boundsOf(fleet);
    const staleMs = Math.min(STALE_MS_MAX, ...BUDGETS.map((budget) => bounds[budget].stalenessMs));
    const load = new Load(
      fleet.pops.map(({ process }) => process.url),
      seed,
    );
    load.pace(CALM);
    await sleep(CALM_MS);
    await until(() => isCalm(fleet, staleMs));
    await fault.begin(fleet, load);
    const begunAt = Date.now();
    load.pace(STRESS);
    // Beyond the end of all leases by the ledger's clock, and until those who are cut off have said so.
    await sleep(1.02 * staleMs + 1000);
    const isBlind = (call: Call) => fault.cutOff.includes(call.pop) && call.start > begunAt + staleMs;
    if (fault.cutOff.length > 0) await until(async () => load.calls.filter(isBlind).length >= 10);
    const endedAt = Date.now();
    await fault.end(fleet, load);
    const overAt = Date.now();
    load.pace(CALM);
    await sleep(CALM_MS);
    const heard = () => heardAt(load.calls, overAt).size === POPS * BUDGETS.length;
    await until(async () => heard());
    await load.stop();
    const recovered = heard();
    return {
      calls: load.calls,
      bounds,
      staleMs,
      begunAt,
      endedAt,
      overAt,
      recovered,
      charged: await charged(fleet, staleMs),
    };
  } finally {
    await fleet.dispose();
  }
}

async function boundsOf(fleet: Fleet): Promise<Record<Budget, Bounds>> {
  const each = BUDGETS.map(async (budget) => [budget, await fleet.ask<Bounds>(0, "bounds", budget, `pops=${POPS}`)]);
  return Object.fromEntries(await Promise.all(each));
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end && !(await condition()); ) await sleep(50);
}

/** Whether those who will be cut off hold something, which no window's end takes away too soon. */
async function isCalm(fleet: Fleet, staleMs: number): Promise<boolean> {
  for (const nth of CUT) {
    for (const budget of BUDGETS) {
      const { held } = await fleet.ask<{ held?: number }>(nth, "stats", budget);
      if (held === 0) return false;
    }
  }
  return FIXED_MS - (Date.now() % FIXED_MS) > staleMs;
}

/** When each PoP first heard from each ledger in a call that was made since then. */
export function heardAt(calls: readonly Call[], since: number): Map<string, number> {
  const first = new Map<string, number>();
  for (const { pop, budget, start, end, decision } of calls) {
    const who = `${pop} ${budget}`;
    if (start >= since && decision && isHeard(decision)) first.set(who, Math.min(end, first.get(who) ?? end));
  }
  return first;
}

const isHeard = ({ source }: Decision) => source === "ledger" || source === "lease";

/** What the ledger of the finite budget has charged when nobody holds anything of it any more. */
async function charged(fleet: Fleet, staleMs: number): Promise<number> {
  for (let nth = 0; nth < POPS; nth++) await fleet.ask(nth, "close");
  await sleep(1.02 * staleMs + 200);
  const { remaining } = await fleet.ask<Decision>(POPS - 1, "peek", "finite");
  return POLICIES.finite.capacity - remaining;
}
