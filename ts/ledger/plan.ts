// A plan's own ledger, as pure steps. Its holders are its children: before a child is asked, what
// it may let through is leased to it; with its answer it is settled, and the rest returned. So a
// token that the child refuses was never used in the plan, one that the plan refuses never in the
// child, and one that is lost on the way between them stays charged to the plan.
import { untilWholeMs } from "./books.ts";
import type { KeyUpdate } from "./keeper.ts";
import { TTL_MS_MAX, termOf } from "./leases.ts";
import {
  type Allotment,
  type Carry,
  type ChildReply,
  type LedgerReply,
  type LedgerRequest,
  OUTCOME_CELLS,
  PEEK,
  REFUND,
  TAKE,
  type Totals,
} from "./messages.ts";
import type { Meters, Run } from "./run.ts";
import type { Lease, LedgerState } from "./state.ts";
import { type Opened, open, sameSpecs, saved } from "./step.ts";

/** How long a child that doesn't answer keeps what it was allotted: longer than a caller retries. */
export const ALLOTTED_MS = 10_000;

/** Holds what nobody can settle any more, until it ends. No child has this name. */
const NOBODY = "";

/** A plan's policies, and how they take over from others. */
export interface PlanPolicies {
  policies: LedgerRequest["policies"];
  carry?: Carry;
}

/** What was reserved for the requests to a child. */
export interface Reserved {
  allotment: Allotment;
  /** The plan's time: the child decides by it too, so that a call is decided at one moment on both. */
  now: number;
  /** Whether its takes would have needed more. */
  short: boolean;
}

/** Whether the plan remembers the child's totals. */
export function isKnown(state: LedgerState | null, child: string, now: number): KeyUpdate<boolean> {
  const result = state?.leases?.some(({ holder, end }) => holder === child && end > now) ?? false;
  return { ...unchanged(state, now), result };
}

/**
 * Reserves for a child what its requests may take, as far as there is any.
 *
 * Of what they would like to lease it gives half of what is free then, at most: half of the plan
 * is always left to the other children.
 *
 * @param known  the child's totals as it told them; needed where the plan has forgotten them
 * @returns null if it has, and they were not given: nothing is changed then
 */
export function reserve(
  meters: Meters,
  before: LedgerState | null,
  plan: PlanPolicies,
  child: string,
  known: Totals | null,
  requests: readonly LedgerRequest[],
  now: number,
): KeyUpdate<Reserved | null> {
  const opened = open(meters, before, plan, now);
  const { state, policies, run } = opened;
  const leases = state?.leases ?? [];
  const own = leases.find(({ holder }) => holder === child);
  const heard = own ? { used: own.used, back: own.back ?? 0, held: own.tokens } : known;
  if (!heard) return { ...unchanged(state, now), result: null };
  const capacity = Math.min(...policies.map((policy) => policy.capacity));
  const wanted = wantedBy(requests, capacity);
  run.leased = leases.reduce((sum, { tokens }) => sum + tokens, 0);
  const free = Math.max(run.free(), 0);
  const takes = Math.min(wanted.takes, free);
  const { ttlMs, longestMs } = termOf(run, Math.max(wanted.ttlMs, ALLOTTED_MS), now);
  const leasable = Math.min(Math.floor((free - takes) / 2), Math.floor(capacity / 2) - run.leased);
  const given = takes + (ttlMs === 0 ? 0 : Math.max(Math.min(wanted.leases, leasable), 0));
  const { used, back } = heard;
  const tokens = heard.held + given;
  const allotment = { used, back, tokens, given, ttlMs };
  const result = { allotment, now, short: wanted.takes > free };
  // What it has heard of the child is there already.
  if (own && given === 0) return { ...unchanged(state, now), result };
  const lease = { holder: child, tokens, want: 0, used, back, end: Math.max(own?.end ?? 0, now + longestMs) };
  return changed(meters, opened, [...leases.filter((other) => other !== own), lease], now, result, given > 0);
}

/**
 * Books what a child has used, takes back what it has not, and adds the plan's word to its replies.
 *
 * @param given     tokens that were reserved for the call
 * @param underWay  tokens reserved for calls to other children: those are yet to come, and don't
 *                  stand in the way of anybody who comes back later
 */
export function settle(
  meters: Meters,
  before: LedgerState | null,
  plan: PlanPolicies,
  child: string,
  requests: readonly LedgerRequest[],
  { replies, totals }: ChildReply,
  given: number,
  underWay: number,
  now: number,
): KeyUpdate<LedgerReply[]> {
  const opened = open(meters, before, plan, now);
  const { state, run } = opened;
  const leases = state?.leases ?? [];
  const own = leases.find(({ holder }) => holder === child);
  const others = leases.filter((lease) => lease !== own);
  // A child that was deleted knows nothing of what it had leased out: that may still be spent.
  const lost = own && totals.fresh ? own.tokens - given : 0;
  if (own && lost > 0) others.push({ ...own, holder: NOBODY, tokens: lost });
  const reserved = others.reduce((sum, { tokens }) => sum + tokens, 0);
  run.leased = Math.max(reserved - underWay, 0) + totals.held;
  run.firstEndMs = Math.min(...others.filter(({ tokens }) => tokens > 0).map(({ end }) => end - now));
  const isFresh = replies.map(({ replayed }) => own !== undefined && !replayed);
  if (own) {
    // Besides the requests that are about to be gone through: what leases have spent, and what
    // the child has told in an answer that never came.
    let used = totals.used - own.used;
    let back = totals.back - (own.back ?? 0);
    for (const [nth, { ops }] of requests.entries()) {
      const { reply } = replies[nth] as ChildReply["replies"][number];
      if (!isFresh[nth] || reply.error) continue;
      for (let op = 0; 2 * op < ops.length; op++) {
        const amount = ops[2 * op + 1] as number;
        if (wasTaken(ops, op, reply)) used -= amount;
        if (ops[2 * op] === REFUND) back -= amount;
      }
    }
    run.book(Math.max(used, 0));
    if (back > 0) run.apply(REFUND, back, now);
  }
  const answers = requests.map((request, nth) => {
    const { reply } = replies[nth] as ChildReply["replies"][number];
    return reply.error ? reply : joined(run, opened, request, reply, isFresh[nth] === true, now);
  });
  if (!own) return { ...unchanged(state, now), result: answers };
  const { used, back, held } = totals;
  const lease = { ...own, tokens: held, used: Math.max(used, own.used), back: Math.max(back, own.back ?? 0) };
  const isSame = lease.used === own.used && lease.back === own.back && lease.tokens === own.tokens;
  if (isSame && lost <= 0) return { ...unchanged(state, now), result: answers };
  return changed(meters, opened, [...others, lease], now, answers);
}

/** A child's reply, with what the plan says to each op behind what the child says. */
function joined(
  run: Run,
  { specs }: Opened,
  { ops, plan }: LedgerRequest,
  told: LedgerReply,
  isFresh: boolean,
  now: number,
): LedgerReply {
  const { capped, ...reply } = told;
  const outcomes: number[] = [];
  for (let op = 0; 2 * op < ops.length; op++) {
    const [kind, amount] = [ops[2 * op] as number, ops[2 * op + 1] as number];
    const taken = wasTaken(ops, op, told);
    if (isFresh && taken) run.book(amount);
    if (isFresh && kind === REFUND) run.apply(REFUND, amount, now);
    run.outcomes.length = 0;
    run.apply(PEEK, kind === TAKE || kind === PEEK ? amount : 1, now);
    if (taken) overrule(run.outcomes, 1);
    else if (capped?.includes(op) && isAdmitted(run.outcomes)) overrule(run.outcomes, 0);
    outcomes.push(...cellsOf(ops, op, reply), ...run.outcomes);
  }
  const answer: LedgerReply = { ...reply, outcomes };
  if (answer.lease) {
    answer.lease = { ...answer.lease, resetMs: Math.max(answer.lease.resetMs, run.wholeAt(now) - now) };
  }
  if (!plan || !sameSpecs(specs, plan.policies)) answer.plan = specs;
  return answer;
}

/** What a reply says to one op. */
function cellsOf(ops: readonly number[], op: number, { outcomes }: LedgerReply): number[] {
  const cells = outcomes.length / (ops.length / 2);
  return outcomes.slice(op * cells, (op + 1) * cells);
}

function wasTaken(ops: readonly number[], op: number, reply: LedgerReply): boolean {
  return ops[2 * op] === TAKE && !reply.capped?.includes(op) && isAdmitted(cellsOf(ops, op, reply));
}

function isAdmitted(outcomes: readonly number[]): boolean {
  for (let at = 0; at < outcomes.length; at += OUTCOME_CELLS) if (outcomes[at] !== 1) return false;
  return true;
}

/** Makes outcomes say what was decided, whatever they would say now. */
function overrule(outcomes: number[], admitted: 0 | 1): void {
  for (let at = 0; at < outcomes.length; at += OUTCOME_CELLS) {
    outcomes[at] = admitted;
    outcomes[at + 2] = 1 - admitted;
  }
}

/** What requests would take and lease at most, without what the plan can never let through. */
function wantedBy(requests: readonly LedgerRequest[], capacity: number) {
  const wanted = { takes: 0, leases: 0, ttlMs: 0 };
  for (const { ops, sync } of requests) {
    for (let at = 0; at < ops.length; at += 2) {
      const cost = ops[at + 1] as number;
      if (ops[at] === TAKE && cost > 0 && cost <= capacity) wanted.takes += cost;
    }
    // What makes no sense is the child's to refuse.
    if (!sync || !Number.isSafeInteger(sync.ask) || sync.ask < 0 || !(sync.ttlMs <= TTL_MS_MAX)) continue;
    wanted.leases += sync.ask;
    wanted.ttlMs = Math.max(wanted.ttlMs, Math.floor(sync.ttlMs));
  }
  return wanted;
}

function unchanged(state: LedgerState | null, now: number): Omit<KeyUpdate<never>, "result"> {
  return { state, changed: false, leased: false, freed: false, wake: now };
}

function changed<T>(
  meters: Meters,
  { state, specs, policies, run }: Opened,
  leases: Lease[],
  now: number,
  result: T,
  leased = false,
): KeyUpdate<T> {
  const wholeMs = Math.max(...policies.map(untilWholeMs));
  const ends = leases.map(({ tokens, end }) => (tokens > 0 ? end + wholeMs : end));
  const wake = Math.max(run.wholeAt(now), ...ends);
  return {
    state: saved(meters, state, specs, run.debts, leases, now),
    changed: true,
    leased,
    freed: false,
    wake,
    result,
  };
}
