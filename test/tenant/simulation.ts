// Tenants in simulated time: the real limiters, supervisor and ledgers, over a network, disks and
// processes that fail between any two steps, all from one seed. What is admitted is noted where
// it is decided, and judged by checkers that know policies from their specs alone.

import type { Decision, Limiter } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { limiterFor } from "../../ts/create-limiter.ts";
import { exact } from "../../ts/designs/exact.ts";
import { lease } from "../../ts/designs/lease.ts";
import { overLedgers } from "../../ts/holders/over-ledgers.ts";
import { memoryChildren } from "../../ts/ledger/children.ts";
import { reserve, strict } from "../../ts/ledger/durability.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import {
  type Allotment,
  type ChildReply,
  type LedgerReply,
  type LedgerRequest,
  TAKE,
} from "../../ts/ledger/messages.ts";
import type { KeyChange, LedgerStore, StoredKey } from "../../ts/ledger/store.ts";
import { Supervisor } from "../../ts/ledger/supervisor.ts";
import { plansOf } from "../../ts/link/terms.ts";
import { parsePolicy } from "../../ts/policies/parse.ts";
import { type Admission, overshootOf } from "../../ts/sim/checkers.ts";
import { Machine } from "../../ts/sim/clocks.ts";
import { Network } from "../../ts/sim/network.ts";
import { seededRandom, World } from "../../ts/sim/world.ts";

export const FAULTS = [
  "loss", // messages to and from the tenant's process vanish
  "duplication", // and arrive twice
  "jitter", // and overtake each other
  "cuts", // PoPs are cut off
  "crashes", // the tenant's process dies, between any two steps
  "aborts", // an endpoint's facet dies alone
  "asks", // what the supervisor asks of an endpoint, or its answer, gets lost
  "deletes", // an endpoint's facet is deleted with its storage
  "popCrashes", // a PoP dies, and its leases with it
  "drift", // clocks run fast or slow
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Scenario {
  seed: number;
  /** Whether each endpoint has a store and a memory of its own. */
  facets: boolean;
  design: "exact" | "lease";
  plan: string;
  policy: string;
  endpoints: number;
  pops: number;
  costMax: number;
  /** Calls a second. */
  rate: number;
  durationMs: number;
  durability: "strict" | "reserve";
  faults: readonly Fault[];
}

export interface Report {
  admitted: number;
  /** Tokens above the plan, and above an endpoint's policy, in their worst intervals. */
  overPlan: number;
  overEndpoint: number;
  /** Tokens that the plan has charged, in the end; where none comes back. */
  charged: number;
  /** Refusals by the plan, and by an endpoint. */
  capped: number;
  limited: number;
  problems: string[];
}

const NEVER = "tokenBucket:rate=1,per=365d,burst=";
const PLANS = [
  `${NEVER}300`,
  `${NEVER}40`,
  "tokenBucket:rate=50,per=1s,burst=60",
  "fixedWindow:limit=60,window=1s",
  "slidingWindow:limit=90,window=2s",
  "tokenBucket:rate=60,per=1s,burst=60+fixedWindow:limit=200,window=5s",
];
const POLICIES = [
  "tokenBucket:rate=10,per=1s,burst=20",
  "tokenBucket:rate=40,per=1s,burst=10",
  "fixedWindow:limit=20,window=700",
  "slidingWindow:limit=25,window=1s",
  `${NEVER}80`,
];

export function scenarioOf(seed: number, given: Partial<Scenario> = {}): Scenario {
  const random = seededRandom(seed ^ 0x7e4a47);
  const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return {
    seed,
    facets: random() < 0.5,
    design: oneOf(["exact", "exact", "lease"]),
    plan: oneOf(PLANS),
    policy: oneOf(POLICIES),
    endpoints: oneOf([1, 2, 5, 12]),
    pops: oneOf([1, 2, 5]),
    costMax: oneOf([1, 1, 3, 8]),
    rate: oneOf([60, 150, 300]),
    durationMs: oneOf([1000, 3000]),
    durability: oneOf(["strict", "strict", "reserve"]),
    faults: random() < 0.5 ? FAULTS : FAULTS.filter(() => random() < 0.35),
    ...given,
  };
}

const TENANT = "acme";
const DRIFT = 0.0095;
const DRAIN_MS = 30_000;

export function run(scenario: Scenario): Promise<Report> {
  return new Run(scenario).run();
}

interface Pop {
  machine: Machine;
  limiter: Limiter;
}

class Run {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #clock: Machine;
  readonly #host: TenantHost;
  readonly #network: Network;
  readonly #pops: Pop[];
  /** What endpoints' ledgers admitted, by who asked for it; and what PoPs admitted from leases. */
  readonly #decided = new Map<string, Admission & { endpoint: string }>();
  readonly #alone: (Admission & { endpoint: string })[] = [];
  #told = 0;
  #lastAt = 0;
  #report: Report = { admitted: 0, overPlan: 0, overEndpoint: 0, charged: 0, capped: 0, limited: 0, problems: [] };

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#world = new World(scenario.seed);
    this.#clock = this.#machine();
    this.#host = new TenantHost(
      this.#world,
      () => this.#now(),
      scenario,
      (id, endpoint, admission) => {
        if (!this.#decided.has(id)) this.#decided.set(id, { endpoint, ...admission });
      },
    );
    this.#network = new Network(this.#world, {
      delayMs: 10,
      jitterMs: this.#has("jitter") ? 20 : 0,
      loss: this.#has("loss") ? 0.1 : 0,
      duplication: this.#has("duplication") ? 0.1 : 0,
    });
    this.#pops = Array.from({ length: scenario.pops }, (_, nth) => this.#start(nth));
  }

  async run(): Promise<Report> {
    const { durationMs, rate, endpoints, costMax } = this.#scenario;
    const world = this.#world;
    for (let at = world.exponential(1000 / rate); at < durationMs; at += world.exponential(1000 / rate)) {
      const endpoint = `e${Math.min(world.pick(endpoints), world.pick(endpoints))}`;
      const [pop, cost] = [world.pick(this.#pops.length), 1 + world.pick(costMax)];
      world.after(at, () => this.#call(pop, endpoint, cost));
    }
    this.#plan();
    await world.runUntil(durationMs);
    this.#network.heal();
    this.#host.heal();
    await world.runUntil(durationMs + 2000);
    for (const { limiter } of this.#pops) limiter.close().catch((error) => this.#problem(`close failed: ${error}`));
    await world.runUntil(durationMs + DRAIN_MS);
    return this.#judge();
  }

  #has(fault: Fault): boolean {
    return this.#scenario.faults.includes(fault);
  }

  #problem(text: string): void {
    this.#report.problems.push(text);
  }

  /** Whole ms of the tenant's process, never set back: the time by which policies are judged. */
  #now(): number {
    this.#lastAt = Math.max(this.#lastAt, Math.floor(this.#clock.now()));
    return this.#lastAt;
  }

  #machine(): Machine {
    const drift = this.#has("drift") ? (2 * this.#world.random() - 1) * DRIFT : 0;
    return new Machine(this.#world, { drift, offsetMs: 0 });
  }

  #start(nth: number): Pop {
    const { design, plan, policy, durability } = this.#scenario;
    const machine = this.#machine();
    const limiter = limiterFor(machine)({
      policy: policy.split("+").map(parsePolicy),
      plan: plan.split("+").map(parsePolicy),
      design: design === "exact" ? exact() : lease({ ttl: 1000 }),
      onUnreachable: "deny",
      deadline: 500,
      name: "sim",
      link: {
        ...overLedgers,
        durability: durability === "strict" ? strict() : reserve(5),
        plans: plansOf(),
        ask: (_, request) => this.#network.carry(nth, request, (received) => this.#host.serve(received)),
      },
    });
    return { machine, limiter };
  }

  #call(nth: number, endpoint: string, cost: number): void {
    const pop = this.#pops[nth] as Pop;
    pop.limiter.limit([TENANT, endpoint], { cost }).then(
      (decision) => {
        if (!pop.machine.dead) this.#heard(decision, endpoint, cost);
      },
      (error) => this.#problem(`a call failed: ${error}`),
    );
  }

  #heard({ success, reason, source }: Decision, endpoint: string, cost: number): void {
    if (reason === "plan_cap") this.#report.capped++;
    if (reason === "limited") this.#report.limited++;
    if (!success) return;
    if (source === "lease") this.#alone.push({ endpoint, at: this.#now(), cost });
    else this.#told += cost;
  }

  #plan(): void {
    const { durationMs, endpoints } = this.#scenario;
    const world = this.#world;
    const often = (fault: Fault, meanMs: number, happen: () => void) => {
      if (!this.#has(fault)) return;
      const next = () => {
        if (world.now >= durationMs) return;
        happen();
        world.after(world.exponential(meanMs), next);
      };
      world.after(world.exponential(meanMs), next);
    };
    often("cuts", durationMs / 5, () => {
      this.#network.cut(world.pick(this.#pops.length), ["there", "back"], world.exponential(durationMs / 6));
    });
    often("crashes", durationMs / 8, () => this.#host.crash(world.exponential(100)));
    often("aborts", durationMs / 12, () => this.#host.abort(`e${world.pick(endpoints)}`));
    often("deletes", durationMs / 6, () => this.#host.delete(`e${world.pick(endpoints)}`));
    often("popCrashes", durationMs / 5, () => {
      const nth = world.pick(this.#pops.length);
      (this.#pops[nth] as Pop).machine.dead = true;
      this.#pops[nth] = this.#start(nth);
    });
  }

  async #judge(): Promise<Report> {
    const { plan, policy, design, faults } = this.#scenario;
    const report = this.#report;
    const decided = [...this.#decided.values()];
    const all = [...decided, ...this.#alone].sort((a, b) => a.at - b.at);
    const worst = (policies: string, admissions: Admission[]) =>
      Math.max(...policies.split("+").map((one) => overshootOf(parsePolicy(one).spec, admissions)));
    report.admitted = all.reduce((sum, { cost }) => sum + cost, 0);
    report.overPlan = worst(plan, all);
    if (report.overPlan > 0) this.#problem(`${report.overPlan} tokens above the plan`);
    report.overEndpoint = Number.NEGATIVE_INFINITY;
    for (const endpoint of new Set(all.map((one) => one.endpoint))) {
      // Who deletes an endpoint's ledger has its budget made whole.
      if (this.#host.deleted.has(endpoint)) continue;
      const over = worst(
        policy,
        all.filter((one) => one.endpoint === endpoint),
      );
      report.overEndpoint = Math.max(report.overEndpoint, over);
      if (over > 0) this.#problem(`${over} tokens above the policy of ${endpoint}`);
    }
    if (this.#told > decided.reduce((sum, { cost }) => sum + cost, 0)) {
      this.#problem("callers were told of more admissions than were made");
    }
    if (!plan.startsWith(NEVER)) return report;
    const looker = this.#start(0).limiter;
    const look = looker.peek([TENANT, "e0"]);
    await this.#world.runUntil(this.#world.now + 2000);
    const left = (await look).each?.at(-1)?.remaining ?? 0;
    report.charged = Number(plan.slice(NEVER.length)) - left;
    if (report.charged < report.admitted) this.#problem(`${report.charged} charged for ${report.admitted} admitted`);
    // A lease that ends before a fixed window's end, unreported, is charged as a whole.
    if (faults.length === 0 && design === "exact" && report.charged !== report.admitted) {
      this.#problem(`without faults ${report.charged} were charged for ${report.admitted} admitted`);
    }
    return report;
  }
}

type Disk = Map<string, string>;

/** A life of a process, or of one facet: what it was doing when it ended never goes on. */
interface Life {
  ended: boolean;
}

/** The tenant's process, with its plan and its endpoints, on disks that outlive it. */
class TenantHost {
  readonly deleted = new Set<string>();
  readonly #world: World;
  readonly #now: () => number;
  readonly #scenario: Scenario;
  readonly #admitted: (id: string, endpoint: string, admission: Admission) => void;
  readonly #core = instantiate();
  readonly #disk: Disk = new Map();
  readonly #facetDisks = new Map<string, Disk>();
  #life: Life = { ended: true };
  #supervisor: Supervisor | null = null;
  #keeper: Keeper | null = null;
  #facets = new Map<string, { life: Life; keeper: Keeper }>();
  #healed = false;

  constructor(
    world: World,
    now: () => number,
    scenario: Scenario,
    admitted: (id: string, endpoint: string, admission: Admission) => void,
  ) {
    this.#world = world;
    this.#now = now;
    this.#scenario = scenario;
    this.#admitted = admitted;
    this.#start();
  }

  serve(request: LedgerRequest): Promise<LedgerReply> | null {
    const life = this.#life;
    if (!this.#supervisor) return null;
    const asked = this.#supervisor.ask(request);
    // Who was killed answers nobody.
    return new Promise((resolve) => asked.then((reply) => life.ended || resolve(reply)));
  }

  /** No more faults of its own. */
  heal(): void {
    this.#healed = true;
  }

  crash(downMs: number): void {
    if (this.#life.ended) return;
    this.#life.ended = true;
    this.#supervisor = null;
    for (const { life } of this.#facets.values()) life.ended = true;
    this.#facets.clear();
    this.#world.after(downMs, () => this.#start());
  }

  abort(endpoint: string): void {
    const facet = this.#facets.get(endpoint);
    if (facet) facet.life.ended = true;
    this.#facets.delete(endpoint);
  }

  delete(endpoint: string): void {
    if (!this.#scenario.facets) return;
    this.abort(endpoint);
    this.#facetDisks.delete(endpoint);
    this.deleted.add(endpoint);
  }

  #start(): void {
    const life = { ended: false };
    this.#life = life;
    const keeper = this.#keeperOn(this.#disk, [life]);
    this.#keeper = keeper;
    this.#supervisor = new Supervisor({
      keeper,
      children: memoryChildren(this.#now),
      askChild: (_, child, requests, allotment, now) => this.#askChild(child, requests, allotment, now),
      now: this.#now,
      later: (ms, callback) => void this.#world.after(ms, () => life.ended || callback()),
    });
  }

  #askChild(child: string, requests: LedgerRequest[], allotment: Allotment, now: number): Promise<ChildReply> {
    const { facets, faults } = this.#scenario;
    const loses = () => !this.#healed && faults.includes("asks") && this.#world.random() < 0.1;
    const life = this.#life;
    return new Promise((resolve, reject) => {
      const fail = () => life.ended || reject(new Error("the facet was aborted"));
      const tick = (callback: () => void) =>
        void this.#world.after(this.#world.exponential(0.5), () => life.ended || callback());
      tick(() => {
        if (loses()) return fail();
        const facet = facets ? this.#facet(child) : { life, keeper: this.#keeper as Keeper };
        const asked = facet.keeper.askChild(child, JSON.parse(JSON.stringify(requests)), allotment, now);
        asked.then(
          (reply) => {
            this.#note(child, requests, reply, now);
            tick(() => (loses() ? fail() : resolve(JSON.parse(JSON.stringify(reply)))));
          },
          () => fail(),
        );
        // Who waits for a facet that is aborted is told so.
        const watch = () => (facet.life.ended ? fail() : void this.#world.after(5, watch));
        watch();
      });
    });
  }

  /** What the child has admitted, whether or not anybody comes to know. */
  #note(endpoint: string, requests: LedgerRequest[], { replies }: ChildReply, at: number): void {
    for (const [nth, { holder, seq, ops }] of requests.entries()) {
      const { reply, replayed } = replies[nth] as ChildReply["replies"][number];
      if (replayed || reply.error) continue;
      const cells = reply.outcomes.length / (ops.length / 2);
      for (let op = 0; 2 * op < ops.length; op++) {
        let admitted = ops[2 * op] === TAKE && !reply.capped?.includes(op);
        for (let cell = op * cells; cell < (op + 1) * cells; cell += 4) admitted &&= reply.outcomes[cell] === 1;
        if (admitted)
          this.#admitted(`${endpoint} ${holder} ${seq} ${op}`, endpoint, { at, cost: ops[2 * op + 1] as number });
      }
    }
  }

  #facet(child: string) {
    let facet = this.#facets.get(child);
    if (!facet) {
      const disk = this.#facetDisks.get(child) ?? new Map<string, string>();
      this.#facetDisks.set(child, disk);
      const life = { ended: false };
      facet = { life, keeper: this.#keeperOn(disk, [life, this.#life]) };
      this.#facets.set(child, facet);
    }
    return facet;
  }

  #keeperOn(disk: Disk, lives: readonly Life[]): Keeper {
    const isAlive = () => lives.every(({ ended }) => !ended);
    const ifAlive = (callback: () => void) => () => {
      if (isAlive()) callback();
    };
    return new Keeper({
      store: this.#store(disk, isAlive),
      durability: strict(),
      now: this.#now,
      soon: (callback) => void this.#world.after(0, ifAlive(callback)),
      later: (ms, callback) => void this.#world.after(ms, ifAlive(callback)),
      instantiate: () => this.#core,
    });
  }

  #store(disk: Disk, isAlive: () => boolean): LedgerStore {
    const read = (address: string): StoredKey | null => {
      const text = disk.get(address);
      return text === undefined ? null : (JSON.parse(text) as StoredKey);
    };
    return {
      read,
      write: (changes) => {
        const copy: KeyChange[] = JSON.parse(JSON.stringify(changes));
        return new Promise((resolve) => {
          this.#world.after(this.#world.exponential(1), () => {
            if (!isAlive()) return;
            for (const { address, state, holders } of copy) {
              const known = new Map(read(address)?.holders);
              for (const [id, holder] of holders) known.set(id, holder);
              disk.set(address, JSON.stringify({ state, holders: [...known] }));
            }
            resolve();
          });
        });
      },
      sweep() {},
      close() {},
    };
  }
}
