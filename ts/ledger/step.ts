import type { Policy, PolicySpec } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import { policyOf } from "../policies/spec.ts";
import { loadAccount, untilWholeMs } from "./books.ts";
import { loadCarried } from "./carry.ts";
import { forfeitEnded, grant, settle, stateOf } from "./leases.ts";
import type { LedgerReply, LedgerRequest } from "./messages.ts";
import { endOf } from "./rights.ts";
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
    const reply = holder.reply ?? decide(meters, holder.before, request, holder.at).reply;
    return { state, reply, replayed: true, changed: false, leased: false, freed: false, admitted: 0, wake: now };
  }
  if (holder && holder.seq > request.seq) {
    throw new LimiterError("protocol", `request ${request.seq} was superseded by ${holder.seq} of the same holder`);
  }
  return decide(meters, state, request, now);
}

function decide(meters: Meters, before: LedgerState | null, request: LedgerRequest, now: number): Step {
  if (request.policies.length === 0) throw new RangeError("a request must name at least one policy");
  const state = before && forfeitEnded(meters, before, now);
  const specs = lasting(state, request, now);
  const policies = specs.map(policyOf);
  const debts = load(meters, state, policies, request, now);
  const run = new Run(meters, policies, state !== null, debts);
  const settled = settle(run, policies, state?.leases ?? [], request, now);
  for (let at = 0; at < request.ops.length; at += 2) {
    run.apply(request.ops[at] as number, request.ops[at + 1] as number, now);
  }
  const reply: LedgerReply = { v: 1, outcomes: run.outcomes };
  let { leases } = settled;
  if (request.sync) {
    const granted = grant(run, policies, settled, request.holder, request.sync, now);
    leases = granted.leases;
    reply.lease = granted.reply;
  }
  if (specs !== request.policies) reply.policies = specs;
  const { freed, admitted } = run;
  const leased = leases !== settled.leases;
  // A clock that was set back is a change too, or what was held would stay in the future.
  const setBack = state?.keys.some((key) => key.at > now) ?? false;
  const changed = run.changed || leased || setBack || state !== before;
  const wake = wakeOf(run, policies, leases, now);
  if (!changed) return { state, reply, replayed: false, changed, leased, freed, admitted, wake };
  const since = state === null ? 0 : sameSpecs(state.policies, specs) ? state.since : now;
  const keys = policies.map((_, index) => meters(index).save());
  const next = stateOf({ v: 1, policies: specs, keys, since }, run.debts, leases);
  return { state: next, reply, replayed: false, changed, leased, freed, admitted, wake };
}

/** The policies to decide by: those of the request, unless the key's changed a moment ago. */
function lasting(state: LedgerState | null, request: LedgerRequest, now: number): PolicySpec[] {
  if (state === null || sameSpecs(state.policies, request.policies)) return request.policies;
  // A change that lies ahead means that the clock was set back.
  const settled = state.since === 0 || state.since > now || now - state.since >= POLICY_MS_MIN;
  return settled ? request.policies : state.policies;
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
function load(meters: Meters, state: LedgerState | null, to: Policy[], request: LedgerRequest, now: number): number[] {
  const carry = request.carry ?? "share";
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

function sameSpecs(a: readonly PolicySpec[], b: readonly PolicySpec[]): boolean {
  return a.length === b.length && a.every((spec, index) => sameSpec(spec, b[index] as PolicySpec));
}

function sameSpec(a: PolicySpec, b: Readonly<PolicySpec>): boolean {
  const names = Object.keys(b) as (keyof PolicySpec)[];
  return Object.keys(a).length === names.length && names.every((name) => a[name] === b[name]);
}
