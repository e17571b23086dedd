import type { Policy, PolicySpec } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import { policyOf } from "../policies/spec.ts";
import { loadAccount, untilWholeMs } from "./books.ts";
import { loadCarried } from "./carry.ts";
import { allot, totalOf } from "./child.ts";
import { forfeitEnded, grant, settle, stateOf } from "./leases.ts";
import type { Allotment, Carry, LedgerReply, LedgerRequest } from "./messages.ts";
import { endOf, settleRights } from "./rights.ts";
import { type Meters, Run } from "./run.ts";
import type { HolderState, Lease, LedgerState } from "./state.ts";

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
  /** Whether a lease was granted, settled or returned: a holder relies on that being remembered. */
  leased: boolean;
  /** Whether budget was given back. */
  freed: boolean;
  /** Tokens that were admitted. */
  admitted: number;
  /** When the budget is whole, and the state says nothing any more; epoch ms. */
  wake: number;
}

/**
 * The single writer of one key, as a pure step: state, request and time in, state and reply
 * out. No I/O and no clock. The host stores the state, and sends the reply after that.
 *
 * @param holder  what the ledger remembers of the request's holder
 * @param now     whole ms since the Unix epoch, never less than in the step before
 * @param allotment  what a child is let have of its plan's budget
 * @throws {RangeError} the request has an invalid policy or op, or names a plan
 * @throws {LimiterError} "protocol": the request's version is unknown, or its seq was superseded
 */
export function step(
  meters: Meters,
  state: LedgerState | null,
  holder: HolderState | undefined,
  request: LedgerRequest,
  now: number,
  allotment?: Allotment,
): Step {
  if (request.v !== 1) throw new LimiterError("protocol", `request has version ${request.v}; this ledger speaks 1`);
  // It must not be left out in silence.
  if (request.plan) throw new RangeError("these ledgers have no plans; link to tenants(...) or embedded()");
  if (holder && holder.seq === request.seq) {
    const reply = holder.reply ?? decide(meters, holder.before, request, holder.at, holder.allotment).reply;
    return { state, reply, replayed: true, changed: false, leased: false, freed: false, admitted: 0, wake: now };
  }
  if (holder && holder.seq > request.seq) {
    throw new LimiterError("protocol", `request ${request.seq} was superseded by ${holder.seq} of the same holder`);
  }
  return decide(meters, state, request, now, allotment);
}

/** What a key is decided by. */
export interface Opened {
  state: LedgerState | null;
  specs: PolicySpec[];
  policies: Policy[];
  run: Run;
}

/** Counts what has ended, and loads a key under the policies that hold. */
export function open(
  meters: Meters,
  before: LedgerState | null,
  request: Pick<LedgerRequest, "policies" | "carry">,
  now: number,
): Opened {
  if (request.policies.length === 0) throw new RangeError("a request must name at least one policy");
  const state = before && forfeitEnded(meters, before, now);
  const specs = lasting(state, request.policies, now);
  const policies = specs.map(policyOf);
  const debts = load(meters, state, policies, request.carry ?? "share", now);
  return { state, specs, policies, run: new Run(meters, policies, state !== null, debts) };
}

function decide(
  meters: Meters,
  before: LedgerState | null,
  request: LedgerRequest,
  now: number,
  allotment: Allotment | undefined,
): Step {
  const { state, specs, policies, run } = open(meters, before, request, now);
  const settled = settle(run, state?.leases ?? [], request, now);
  settleRights(run, settled, request, now);
  let total = totalOf(before, state);
  if (allotment) total = allot(run, total, allotment);
  for (let at = 0; at < request.ops.length; at += 2) {
    run.apply(request.ops[at] as number, request.ops[at + 1] as number, now);
  }
  const reply: LedgerReply = { v: 1, outcomes: run.outcomes };
  let { leases } = settled;
  if (request.sync) {
    const ttlMs = Math.min(request.sync.ttlMs, allotment?.ttlMs ?? Number.POSITIVE_INFINITY);
    const granted = grant(run, settled, request, { ...request.sync, ttlMs }, now);
    leases = granted.leases;
    reply.lease = granted.reply;
  }
  if (specs !== request.policies) reply.policies = specs;
  if (run.capped.length > 0) reply.capped = run.capped;
  const { freed, admitted } = run;
  const leased = leases !== settled.leases;
  // A clock that was set back is a change too, or what was held would stay in the future.
  const setBack = state?.keys.some((key) => key.at > now) ?? false;
  // What a child gives back to its plan must be given back once, even if the child itself is whole.
  const gaveBack = allotment !== undefined && run.back > 0;
  const changed = run.changed || gaveBack || leased || setBack || state !== before;
  const wake = wakeOf(run, policies, leases, now);
  if (!changed) return { state, reply, replayed: false, changed, leased, freed, admitted, wake };
  const next = saved(meters, state, specs, run.debts, leases, now);
  if (allotment || before?.total) {
    next.total = { used: total.used + run.booked + run.admitted, back: total.back + run.back };
  }
  return { state: next, reply, replayed: false, changed, leased, freed, admitted, wake };
}

/** The state of a key as the meters have it. */
export function saved(
  meters: Meters,
  state: LedgerState | null,
  specs: PolicySpec[],
  debts: readonly number[],
  leases: Lease[],
  now: number,
): LedgerState {
  const since = state === null ? 0 : sameSpecs(state.policies, specs) ? state.since : now;
  return stateOf({ v: 1, policies: specs, keys: specs.map((_, index) => meters(index).save()), since }, debts, leases);
}

/** The policies to decide by: the `wanted` ones, unless the key's changed a moment ago. */
function lasting(state: LedgerState | null, wanted: PolicySpec[], now: number): PolicySpec[] {
  if (state === null || sameSpecs(state.policies, wanted)) return wanted;
  // A change that lies ahead means that the clock was set back.
  const settled = state.since === 0 || state.since > now || now - state.since >= POLICY_MS_MIN;
  return settled ? wanted : state.policies;
}

/** When the budget is whole again, whatever its holders do. */
function wakeOf(run: Run, policies: readonly Policy[], leases: readonly Lease[], now: number): number {
  const wholeMs = Math.max(...policies.map(untilWholeMs));
  const owed = Math.max(...run.debts.map((debt, index) => Math.ceil(debt / (policies[index] as Policy).capacity)));
  const ends = leases.map(({ end, rights }) => Math.max(end, rights ? endOf(rights) : 0) + wholeMs);
  return Math.max(run.wholeAt(now), ...ends) + owed * wholeMs;
}

/**
 * Loads the key under each policy: the very same one's state, else the one's in its place.
 * Returns what it owes under each of them.
 */
function load(meters: Meters, state: LedgerState | null, to: Policy[], carry: Carry, now: number): number[] {
  return to.map((policy, index) => {
    const same = state?.policies.findIndex((spec) => sameSpec(spec, policy.spec)) ?? -1;
    const from = same >= 0 ? same : index;
    const key = state?.keys[from];
    const spec = state?.policies[from];
    const debt = state?.debts?.[from] ?? 0;
    if (key && same >= 0) return loadAccount(meters(index), policy, { key, debt }, now);
    if (!key || !spec) meters(index).load(policy, null, now);
    else loadCarried(meters(index), policyOf(spec), policy, key, now, carry);
    return carry === "reset" ? 0 : debt;
  });
}

export function sameSpecs(a: readonly PolicySpec[], b: readonly PolicySpec[]): boolean {
  return a.length === b.length && a.every((spec, index) => sameSpec(spec, b[index] as PolicySpec));
}

function sameSpec(a: PolicySpec, b: Readonly<PolicySpec>): boolean {
  const names = Object.keys(b) as (keyof PolicySpec)[];
  return Object.keys(a).length === names.length && names.every((name) => a[name] === b[name]);
}
