import type { Policy, PolicySpec } from "../contract.ts";
import type { Meter } from "../core/meter.ts";
import { LimiterError } from "../errors.ts";
import { policyOf } from "../policies/spec.ts";
import { loadCarried } from "./carry.ts";
import { type LedgerReply, type LedgerRequest, PEEK, REFUND, RESET, TAKE } from "./messages.ts";
import type { HolderState, LedgerState } from "./state.ts";

/** Shortest time between two changes of a key's policies. */
// While a fleet is rolled over, old and new limiters ask in turn. Were each to change the
// policies, the level would be rounded up each time and creep to the top.
export const POLICY_MS_MIN = 30_000;

/** What one request makes of a key. */
export interface Step {
  /** null: nothing is known of the key, its budget is whole. */
  state: LedgerState | null;
  reply: LedgerReply;
  /** Whether this was a retry: the reply is the remembered one, and all else is as it was. */
  replayed: boolean;
  /** Whether `state` differs from what went in. */
  changed: boolean;
  /** Whether budget was given back. */
  freed: boolean;
  /** Tokens that were admitted. */
  admitted: number;
  /** When the budget is whole, and the state says nothing any more; epoch ms. */
  wake: number;
}

/** The arithmetic that a ledger works with: one meter for each of several policies. */
export type Meters = (index: number) => Meter;

/**
 * The single writer of one key, as a pure step: state, request and time in, state and reply
 * out. No I/O and no clock. The host stores the state, and sends the reply after that.
 *
 * @param holder  what the ledger remembers of the request's holder
 * @param now     whole ms since the Unix epoch, never less than in the step before
 * @throws {RangeError} the request has an invalid policy or op
 * @throws {LimiterError} "protocol": the request's version is unknown, or its seq was superseded
 */
export function step(
  meters: Meters,
  state: LedgerState | null,
  holder: HolderState | undefined,
  request: LedgerRequest,
  now: number,
): Step {
  if (request.v !== 1) throw new LimiterError("protocol", `request has version ${request.v}; this ledger speaks 1`);
  if (holder && holder.seq === request.seq) {
    const { reply } = decide(meters, holder.before, request, holder.at);
    return { state, reply, replayed: true, changed: false, freed: false, admitted: 0, wake: now };
  }
  if (holder && holder.seq > request.seq) {
    throw new LimiterError("protocol", `request ${request.seq} was superseded by ${holder.seq} of the same holder`);
  }
  return decide(meters, state, request, now);
}

function decide(meters: Meters, state: LedgerState | null, request: LedgerRequest, now: number): Step {
  if (request.policies.length === 0) throw new RangeError("a request must name at least one policy");
  const specs = lasting(state, request, now);
  const policies = specs.map(policyOf);
  load(meters, state, policies, request, now);
  const run = new Run(meters, policies, state !== null);
  for (let at = 0; at < request.ops.length; at += 2) {
    run.apply(request.ops[at] as number, request.ops[at + 1] as number, now);
  }
  const reply: LedgerReply = { v: 1, outcomes: run.outcomes };
  if (specs !== request.policies) reply.policies = specs;
  const { freed, admitted } = run;
  // A clock that was set back is a change too, or what was held would stay in the future.
  const changed = run.changed || (state?.keys.some((key) => key.at > now) ?? false);
  const wake = run.wholeAt(now);
  if (!changed) return { state, reply, replayed: false, changed, freed, admitted, wake };
  const since = state === null ? 0 : sameSpecs(state.policies, specs) ? state.since : now;
  const keys = policies.map((_, index) => meters(index).save());
  const next: LedgerState = { v: 1, policies: specs, keys, since };
  return { state: next, reply, replayed: false, changed, freed, admitted, wake };
}

/** The policies to decide by: those of the request, unless the key's changed a moment ago. */
function lasting(state: LedgerState | null, request: LedgerRequest, now: number): PolicySpec[] {
  if (state === null || sameSpecs(state.policies, request.policies)) return request.policies;
  // A change that lies ahead means that the clock was set back.
  const settled = state.since === 0 || state.since > now || now - state.since >= POLICY_MS_MIN;
  return settled ? request.policies : state.policies;
}

/** Loads the key under each policy: the very same one's state, else the one's in its place. */
function load(meters: Meters, state: LedgerState | null, to: Policy[], request: LedgerRequest, now: number): void {
  for (const [index, policy] of to.entries()) {
    const same = state?.policies.findIndex((spec) => sameSpec(spec, policy.spec)) ?? -1;
    const from = same >= 0 ? same : index;
    const key = state?.keys[from];
    const spec = state?.policies[from];
    if (!key || !spec) meters(index).load(policy, null, now);
    else if (same >= 0) meters(index).load(policy, key, now);
    else loadCarried(meters(index), policyOf(spec), policy, key, now, request.carry ?? "share");
  }
}

function sameSpecs(a: readonly PolicySpec[], b: readonly PolicySpec[]): boolean {
  return a.length === b.length && a.every((spec, index) => sameSpec(spec, b[index] as PolicySpec));
}

function sameSpec(a: PolicySpec, b: Readonly<PolicySpec>): boolean {
  const names = Object.keys(b) as (keyof PolicySpec)[];
  return Object.keys(a).length === names.length && names.every((name) => a[name] === b[name]);
}

/** The ops of one request, applied to the loaded meters one after the other. */
class Run {
  readonly outcomes: number[] = [];
  changed = false;
  freed = false;
  admitted = 0;
  readonly #meters: Meters;
  readonly #policies: readonly Policy[];
  readonly #known: boolean;

  constructor(meters: Meters, policies: readonly Policy[], known: boolean) {
    this.#meters = meters;
    this.#policies = policies;
    this.#known = known;
  }

  apply(kind: number, amount: number, now: number): void {
    if (!Number.isSafeInteger(amount) || amount < 1)
      throw new RangeError(`op amount must be a positive integer; got ${amount}`);
    if (kind === TAKE) this.#take(amount);
    else if (kind === REFUND) this.#refund(amount);
    else if (kind === RESET) this.#reset(now);
    else if (kind === PEEK) this.#look(amount);
    else throw new RangeError(`op kind must be ${TAKE}, ${PEEK}, ${REFUND} or ${RESET}; got ${kind}`);
  }

  /** When every policy's budget will be whole. */
  wholeAt(now: number): number {
    let latest = now;
    for (let index = 0; index < this.#policies.length; index++) {
      this.#meters(index).decide(1, false);
      latest = Math.max(latest, now + this.#meters(index).resetMs);
    }
    return latest;
  }

  /** All policies admit it, or none is charged. */
  #take(cost: number): void {
    const several = this.#policies.length > 1;
    if (several && !this.#look(cost)) return;
    if (several) this.outcomes.length -= 4 * this.#policies.length;
    let admitted = true;
    for (let index = 0; index < this.#policies.length; index++) admitted = this.#decide(index, cost, true);
    if (!admitted) return;
    this.admitted += cost;
    this.changed = true;
  }

  #refund(count: number): void {
    for (let index = 0; index < this.#policies.length; index++) this.#meters(index).refund(count);
    this.changed ||= this.#known;
    this.freed ||= this.changed;
    this.#look(1);
  }

  #reset(now: number): void {
    for (const [index, policy] of this.#policies.entries()) this.#meters(index).load(policy, null, now);
    this.changed ||= this.#known;
    this.freed ||= this.changed;
    this.#look(1);
  }

  #look(cost: number): boolean {
    let all = true;
    for (let index = 0; index < this.#policies.length; index++) all = this.#decide(index, cost, false) && all;
    return all;
  }

  #decide(index: number, cost: number, commit: boolean): boolean {
    const meter = this.#meters(index);
    const admitted = meter.decide(cost, commit);
    this.outcomes.push(admitted ? 1 : 0, meter.remaining, meter.retryAfterMs, meter.resetMs);
    return admitted;
  }
}
