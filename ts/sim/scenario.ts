// A scenario is a run in plain words: what a line of the command says, and what a seed draws.
import type { Design } from "../designs/design.ts";
import { exact } from "../designs/exact.ts";
import { lease } from "../designs/lease.ts";
import type { OnUnreachable } from "../designs/link.ts";
import { optimistic } from "../designs/optimistic.ts";
import { type ShardedOptions, sharded } from "../designs/sharded.ts";
import { lazy, reserve, strict } from "../ledger/durability.ts";
import { shareOf } from "../ledger/rights.ts";
import { parsePolicy } from "../policies/parse.ts";
import { DEMAND_KINDS, type DemandKind } from "./demand.ts";
import { FAULT_KINDS, type FaultKind, type Report, type SimulateOptions } from "./options.ts";
import { simulate } from "./simulate.ts";
import { seededRandom } from "./world.ts";

export interface Scenario {
  seed: number;
  design: string;
  /** Policies, with "+" between them. */
  policy: string;
  pops: number;
  /** 0: none. */
  regions: number;
  /** Mean life of a PoP, ms; 0: it lives for ever. */
  lifeMs: number;
  demand: DemandKind;
  load: number;
  costMax: number;
  durationMs: number;
  rttMs: number;
  durability: "strict" | "reserve" | "lazy";
  onUnreachable: OnUnreachable;
  /** The limiters' option `pops`, as a multiple of the holders that there are: some crash. */
  slack: number;
  faults: readonly FaultKind[];
}

const POLICIES = [
  "tokenBucket:rate=100,per=1s,burst=50",
  "tokenBucket:rate=40,per=1s,burst=200",
  "tokenBucket:rate=7,per=3s,burst=20",
  "fixedWindow:limit=100,window=2s",
  "fixedWindow:limit=300,window=10s",
  "slidingWindow:limit=100,window=2s",
  "slidingWindow:limit=60,window=5s,resolution=100",
  "tokenBucket:rate=60,per=1s,burst=60+fixedWindow:limit=300,window=8s",
  "slidingWindow:limit=40,window=1s+tokenBucket:rate=20,per=1s,burst=100",
];
const POPS = [2, 5, 20, 100];
/** What a design without options may get. */
const DESIGNS: Record<string, readonly string[]> = {
  lease: [
    "lease",
    "lease:ttl=500",
    "lease:ttl=1s",
    "lease:ttl=500,block=10",
    "lease:ttl=500,block=20",
    "lease:ttl=2s,block=5",
  ],
  optimistic: [
    "optimistic",
    "optimistic:every=200,blind=1s",
    "optimistic:every=100,blind=500,overdraft=0.5",
    "optimistic:every=500,blind=2s,overdraft=0.25,maxUnsynced=20",
    "optimistic:every=200,blind=1s,overdraft=0",
  ],
  sharded: [
    "sharded:shards=2",
    "sharded:shards=4",
    "sharded:shards=16",
    "sharded:shards=4,route=spread,retries=1",
    "sharded:shards=auto,splitAt=5",
    "sharded:shards=auto,splitAt=20",
    "sharded:shards=2,split=static",
    "sharded:shards=7,split=static,retries=0",
    "sharded:shards=16,split=static,route=pinned,retries=3",
  ],
};

/** What the seed draws, but for what is `given`. */
export function scenarioOf(seed: number, given: Partial<Scenario> = {}): Scenario {
  const random = seededRandom(seed ^ 0x5ca1ab1e);
  const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const pops = oneOf(POPS);
  const drawn: Scenario = {
    seed,
    design: "lease",
    policy: oneOf(POLICIES),
    pops,
    regions: 0,
    lifeMs: 0,
    demand: oneOf(DEMAND_KINDS),
    load: oneOf([0.5, 0.9, 1.5, 3]),
    costMax: oneOf([1, 1, 1, 4]),
    durationMs: oneOf([4000, 8000, 16_000]),
    rttMs: oneOf([4, 40, 160]),
    durability: oneOf(["strict", "strict", "reserve", "lazy"] as const),
    onUnreachable: oneOf(["deny", "share"] as const),
    slack: oneOf([1, 1, 3, 0.4]),
    // All of them in half of the runs; in the others it shows which one matters.
    faults: random() < 0.5 ? FAULT_KINDS : FAULT_KINDS.filter(() => random() < 0.4),
  };
  const scenario = { ...drawn, ...given };
  scenario.design = oneOf(DESIGNS[scenario.design] ?? [scenario.design]);
  if (given.onUnreachable === undefined && !canShare(scenario)) scenario.onUnreachable = "deny";
  return scenario;
}

/** Whether each holder's share is a token or more. */
function canShare({ design, policy, pops, slack }: Scenario): boolean {
  if (!/^(lease|optimistic)/.test(design)) return false;
  return policy.split("+").every((one) => shareOf(parsePolicy(one), Math.ceil(pops * slack)) > 0);
}

/** Runs it. @throws {RangeError} it says something impossible */
export function run(scenario: Scenario): Promise<Report> {
  const { seed, pops, regions, lifeMs, demand, load, costMax, durationMs, rttMs, onUnreachable, slack, faults } =
    scenario;
  const options: SimulateOptions = {
    seed,
    policies: scenario.policy.split("+").map(parsePolicy),
    design: designOf(scenario.design),
    pops,
    regions,
    lifeMs,
    demand: { kind: demand, load, costMax },
    durationMs,
    rttMs,
    durability: { strict: strict(), reserve: reserve(10), lazy: lazy({ every: 100 }) }[scenario.durability],
    onUnreachable,
    slots: Math.ceil(pops * slack),
    faults,
  };
  return simulate(options);
}

/** The smallest scenario that still fails, found by leaving out one thing after another. */
export async function shrink(failing: Scenario, fails: (scenario: Scenario) => Promise<boolean>): Promise<Scenario> {
  let smallest = failing;
  for (let next = 0, tries = simpler(smallest); next < tries.length; next++) {
    if (!(await fails(tries[next] as Scenario))) continue;
    smallest = tries[next] as Scenario;
    tries = simpler(smallest);
    next = -1;
  }
  return smallest;
}

function simpler(scenario: Scenario): Scenario[] {
  const { faults, pops, durationMs, load, costMax, durability } = scenario;
  const less: Partial<Scenario>[] = faults.map((fault) => ({ faults: faults.filter((other) => other !== fault) }));
  if (pops > 2) less.push({ pops: 2 }, { pops: Math.ceil(pops / 2) });
  if (durationMs > 500) less.push({ durationMs: Math.ceil(durationMs / 2) });
  if (durability !== "strict") less.push({ durability: "strict" });
  if (costMax > 1) less.push({ costMax: 1 });
  if (load > 1) less.push({ load: load / 2 });
  return less.map((change) => ({ ...scenario, ...change }));
}

/** The command that runs the scenario again. */
export function commandOf(scenario: Scenario): string {
  const words = Object.entries(scenario).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(",") || "none" : String(value);
    return `--${name} ${/[^\w.,+-]/.test(text) ? `'${text}'` : text}`;
  });
  return `npm run sim -- ${words.join(" ")}`;
}

/** The design in a word and its options: "exact", "lease:block=8,ttl=5s". */
function designOf(text: string): Design {
  const [kind, list = ""] = text.split(/:(.*)/s);
  const options: Record<string, string | number> = {};
  for (const part of list.split(",").filter((part) => part !== "")) {
    const [name = "", value = ""] = part.split("=");
    options[name] = /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  }
  if (kind === "exact") return exact(options);
  if (kind === "lease") return lease(options);
  if (kind === "optimistic") return optimistic(options);
  if (kind === "sharded") return sharded(options as unknown as ShardedOptions);
  throw new RangeError(
    `design must be exact, lease, optimistic or sharded, with options as in lease:block=8,ttl=5s; got "${text}"`,
  );
}
