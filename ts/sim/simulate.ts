// Runs limiters against ledgers in simulated time: the very same code as in production, over a
// network, clocks, disks and callers that misbehave as they are told to, all from one seed.

import type { Decision, Limiter } from "../contract.ts";
import { limiterFor } from "../create-limiter.ts";
import type { LedgerRequest } from "../ledger/messages.ts";
import { type Admission, clairvoyant, overshootOf } from "./checkers.ts";
import { Machine } from "./clocks.ts";
import { type Call, callsOf, GREEDY } from "./demand.ts";
import { LastWord } from "./last-word.ts";
import { LedgerHost } from "./ledger-host.ts";
import { MiddleHosts } from "./middle-host.ts";
import { Network } from "./network.ts";
import type { FaultKind, Report, SimulateOptions } from "./options.ts";
import { World } from "./world.ts";

const KEY = "key";
/** A region is so many times nearer than home. */
const NEAR = 10;
const DEADLINE_MS = 500;
/** Relative error of a clock's speed, at most: two of them stay within the leases' guard of 2 %. */
const DRIFT = 0.0095;
const DRAIN_MS = 60_000;
/** How often is looked at what other holders have in hand, at most. */
const STRANDED_MS = 5;

/** Runs one simulation to its end. @throws {RangeError} what createLimiter throws */
export async function simulate(options: SimulateOptions): Promise<Report> {
  return new Simulation(options).run();
}

interface Pop {
  machine: Machine;
  limiter: Limiter;
  word: LastWord;
  /** Calls that wait for their answers. */
  waiting: number;
}

class Simulation {
  readonly #options: SimulateOptions;
  readonly #world: World;
  readonly #clock: Machine;
  readonly #ledger: LedgerHost;
  readonly #network: Network;
  readonly #middles: MiddleHosts;
  readonly #pops: Pop[] = [];
  /** What was admitted, by whom it was decided: the ledger, or a holder alone. */
  readonly #atLedger = new Map<string, Admission>();
  readonly #alone: Admission[] = [];
  /** Tokens that callers were told the ledger had admitted. */
  #fromLedger = 0;
  #lastAt = 0;
  #strandedAt = Number.NEGATIVE_INFINITY;
  readonly #report: Report;

  constructor(options: SimulateOptions) {
    this.#options = options;
    this.#world = new World(options.seed);
    const has = (kind: FaultKind) => options.faults.includes(kind);
    this.#clock = this.#machine(false);
    this.#ledger = new LedgerHost(
      this.#world,
      { now: () => this.#ledgerTime() },
      options.durability,
      has("ledgerCrashes") ? 5 : 0,
      (who, cost, at) => {
        if (!this.#atLedger.has(who)) this.#atLedger.set(who, { at, cost });
      },
    );
    const network = (rttMs: number) =>
      new Network(this.#world, {
        delayMs: rttMs / 2,
        jitterMs: has("jitter") ? rttMs : 0,
        loss: has("loss") ? 0.1 : 0,
        duplication: has("duplication") ? 0.1 : 0,
      });
    this.#network = network(options.rttMs);
    this.#middles = new MiddleHosts({
      world: this.#world,
      machine: () => this.#machine(true),
      toHome: this.#network,
      home: (address, request) => this.#ledger.serve(address, request),
      durability: options.durability,
      toMiddles: network(options.regions ? options.rttMs / NEAR : options.rttMs),
      tookAt: (who, cost) => this.#atLedger.set(who, { at: this.#ledgerTime(), cost }),
    });
    for (let nth = 0; nth < options.pops; nth++) this.#pops.push(this.#start(nth));
    this.#report = {
      demanded: 0,
      admitted: 0,
      clairvoyant: 0,
      utilization: 0,
      overshoot: 0,
      allowed: 0,
      calls: 0,
      admittedCalls: 0,
      requests: 0,
      roundTripsPerAdmit: 0,
      writesPerAdmit: 0,
      middleRequests: 0,
      shards: { most: 0, last: 0 },
      stranded: 0,
      stalenessMs: 0,
      bounds: (this.#pops[0] as Pop).limiter.bounds({
        pops: Math.max(options.slots ?? 1, options.pops),
        rtt: options.rttMs,
      }),
      problems: [],
    };
  }

  async run(): Promise<Report> {
    const { policies, demand, pops, durationMs } = this.#options;
    const specs = policies.map(({ spec }) => spec);
    const { calls, periodMs } = callsOf(this.#world, demand, specs, pops, durationMs);
    const seen: Admission[] = [];
    this.#callInTurn(calls, 0, seen);
    this.#plan(periodMs);
    await this.#world.runUntil(durationMs);
    this.#network.heal();
    this.#middles.network.heal();
    await this.#world.runUntil(durationMs + DRAIN_MS);
    return this.#judge(seen);
  }

  /** Whole ms, never set back: the time by which the policy is judged. */
  #ledgerTime(): number {
    this.#lastAt = Math.max(this.#lastAt, Math.floor(this.#clock.now()));
    return this.#lastAt;
  }

  #machine(isHolder: boolean): Machine {
    const { faults } = this.#options;
    const drift = faults.includes("drift") ? (2 * this.#world.random() - 1) * DRIFT : 0;
    const offsetMs = isHolder && faults.includes("steps") ? (2 * this.#world.random() - 1) * 60_000 : 0;
    return new Machine(this.#world, { drift, offsetMs });
  }

  #start(nth: number): Pop {
    const {
      policies,
      own = policies,
      design,
      durability,
      onUnreachable,
      pops,
      slots = pops,
      regions = 0,
    } = this.#options;
    const machine = this.#machine(true);
    const word = new LastWord(() => this.#world.now);
    const home = {
      durability,
      ask: (address: string, request: LedgerRequest) =>
        this.#network.carry(nth, request, (received) => this.#ledger.serve(address, received)),
      at: (place: string) => this.#middles.link(nth, place),
    };
    const link = regions > 0 ? this.#middles.link(nth, `region ${nth % regions}`) : home;
    const remote =
      design.kind !== "local" ? { link: word.over(link), onUnreachable, pops: slots, deadline: DEADLINE_MS } : {};
    const limiter = limiterFor(machine)({ policy: own, design, name: "sim", ...remote });
    return { machine, limiter, word, waiting: 0 };
  }

  #callInTurn(calls: readonly Call[], nth: number, seen: Admission[]): void {
    const call = calls[nth];
    if (!call) return;
    this.#world.after(call.at - this.#world.now, () => {
      seen.push({ at: this.#ledgerTime(), cost: call.cost });
      this.#call(this.#pops[call.holder] as Pop, call.cost);
      this.#callInTurn(calls, nth + 1, seen);
    });
  }

  #call(pop: Pop, cost: number): void {
    this.#report.calls++;
    this.#report.demanded += cost;
    pop.machine.thaw();
    pop.waiting++;
    pop.limiter.limit(KEY, { cost }).then(
      (decision) => {
        pop.waiting--;
        if (!pop.machine.dead) this.#decided(pop, decision, cost);
      },
      (error) => {
        pop.waiting--;
        this.#report.problems.push(`a call failed: ${error}`);
      },
    );
  }

  #decided(pop: Pop, decision: Decision, cost: number): void {
    if (!decision.success) {
      if (decision.reason === "limited") this.#refused(pop);
      return;
    }
    if (decision.source === "fallback") return;
    this.#report.admitted += cost;
    this.#report.admittedCalls++;
    if (decision.source === "ledger") this.#fromLedger += cost;
    else this.#alone.push({ at: this.#ledgerTime(), cost });
    if (decision.source === "lease") {
      this.#report.stalenessMs = Math.max(this.#report.stalenessMs, pop.word.ageMs);
    }
  }

  #refused(pop: Pop): void {
    if (this.#world.now < this.#strandedAt + STRANDED_MS) return;
    this.#strandedAt = this.#world.now;
    let held = 0;
    for (const other of this.#pops) if (other !== pop) held += other.limiter.stats().held ?? 0;
    this.#report.stranded = Math.max(this.#report.stranded, held);
  }

  /** Lays out the faults that have a time of their own. */
  #plan(periodMs: number): void {
    const { faults, durationMs, pops, demand, design } = this.#options;
    const world = this.#world;
    const often = (kind: FaultKind, meanMs: number, happen: () => void) => {
      if (!faults.includes(kind)) return;
      const next = () => {
        happen();
        world.after(world.exponential(meanMs), () => {
          if (world.now < durationMs) next();
        });
      };
      world.after(world.exponential(meanMs), next);
    };
    often("cuts", durationMs / 6, () => {
      const directions = ([["there"], ["back"], ["there", "back"]] as const)[world.pick(3)] as readonly (
        | "there"
        | "back"
      )[];
      const everyone = world.random() < 0.2;
      const ms = world.exponential(durationMs / 8);
      const { places } = this.#middles;
      const cutOff = (one: number | string) => {
        this.#network.cut(one, directions, ms);
        this.#middles.network.cut(one, directions, ms);
      };
      if (everyone) for (const one of [...Array(pops).keys(), ...places]) cutOff(one);
      else if (places.length > 0 && world.random() < 0.5) cutOff(places[world.pick(places.length)] as string);
      else cutOff(world.pick(pops));
    });
    for (let phase = 0; demand.kind === "greedy" && phase * periodMs < durationMs; phase++) {
      world.after((phase + 1.2 * GREEDY.fill) * periodMs, () => {
        const restMs = (GREEDY.spend - GREEDY.fill) * periodMs;
        if (faults.includes("cuts")) {
          this.#network.cut(phase % pops, ["there", "back"], restMs);
          this.#middles.network.cut(phase % pops, ["there", "back"], restMs);
        }
        if (faults.includes("freezes")) this.#freeze(this.#pops[phase % pops] as Pop, restMs);
      });
    }
    often("freezes", durationMs / 10, () => {
      this.#freeze(this.#pops[world.pick(pops)] as Pop, world.exponential(durationMs / 8));
    });
    often("ledgerCrashes", durationMs / 4, () => this.#ledger.crash(world.exponential(300)));
    if (design.kind === "sharded") this.#watchShards();
    const { lifeMs = 0 } = this.#options;
    for (let nth = 0; lifeMs > 0 && nth < pops; nth++) this.#liveAndDie(nth, lifeMs);
    if (this.#options.regions || design.kind === "sharded") {
      often("ledgerCrashes", durationMs / 8, () => this.#middles.crash(world.exponential(300)));
    }
    often("holderCrashes", durationMs / 5, () => this.#restart(world.pick(pops)));
    often("steps", durationMs / 5, () => {
      (this.#pops[world.pick(pops)] as Pop).machine.step((2 * world.random() - 1) * 3_600_000);
    });
  }

  /** For so long, or until the next call comes. Who still waits keeps it awake. */
  #freeze({ machine, waiting }: Pop, ms: number): void {
    if (waiting > 0) return;
    machine.freeze();
    this.#world.after(ms, () => machine.thaw());
  }

  #watchShards(): void {
    const { shards } = this.#report;
    shards.last = Math.max(...this.#pops.map(({ limiter }) => limiter.stats().shards ?? 0));
    shards.most = Math.max(shards.most, shards.last);
    if (this.#world.now < this.#options.durationMs) this.#world.after(500, () => this.#watchShards());
  }

  #liveAndDie(nth: number, meanMs: number): void {
    this.#world.after(this.#world.exponential(meanMs), () => {
      if (this.#world.now > this.#options.durationMs) return;
      this.#restart(nth);
      this.#liveAndDie(nth, meanMs);
    });
  }

  #restart(nth: number): void {
    (this.#pops[nth] as Pop).machine.dead = true;
    this.#pops[nth] = this.#start(nth);
  }

  #judge(seen: readonly Admission[]): Report {
    const report = this.#report;
    const specs = this.#options.policies.map(({ spec }) => spec);
    const byLedger = [...this.#atLedger.values()];
    const admissions = [...byLedger, ...this.#alone].sort((a, b) => a.at - b.at);
    report.overshoot = Math.max(...specs.map((spec) => overshootOf(spec, admissions)));
    report.clairvoyant = clairvoyant(specs, seen);
    report.utilization = report.clairvoyant === 0 ? 1 : report.admitted / report.clairvoyant;
    report.requests = this.#ledger.requests;
    report.middleRequests = this.#middles.requests;
    report.roundTripsPerAdmit = this.#ledger.requests / Math.max(report.admittedCalls, 1);
    report.writesPerAdmit = this.#ledger.writes / Math.max(report.admittedCalls, 1);
    report.allowed = report.bounds.overshoot + this.#ledger.crashes * report.bounds.crash.overshoot;
    if (report.overshoot > report.allowed) {
      report.problems.push(`${report.overshoot} tokens above the policy, where ${report.allowed} are allowed`);
    }
    if (this.#fromLedger > byLedger.reduce((sum, { cost }) => sum + cost, 0)) {
      report.problems.push("callers were told of more admissions than the ledger made");
    }
    if (report.stranded > report.bounds.stranded) {
      report.problems.push(`${report.stranded} tokens stranded, where ${report.bounds.stranded} are allowed`);
    }
    if (report.stalenessMs > report.bounds.stalenessMs / (1 - DRIFT)) {
      report.problems.push(
        `a lease told of ${report.stalenessMs} ms ago, where ${report.bounds.stalenessMs} are allowed`,
      );
    }
    const hung = this.#pops.reduce((sum, { waiting }) => sum + waiting, 0);
    if (hung > 0) report.problems.push(`${hung} calls were never answered`);
    return report;
  }
}
