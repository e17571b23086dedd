// Leases: tokens that a holder may spend without asking. The policy's state records what is
// settled only, that is, reported as used, or ended unreported. What is leased until then stays
// reserved: it is kept apart from what else is admitted, under the ceiling of a bucket too.
// So nothing is booked before it can have happened, and admissions of any interval were either
// booked in it or are leased at its end: together no more than the policy allows.
import type { Policy } from "../contract.ts";
import { policyOf } from "../policies/spec.ts";
import { book, loadAccount } from "./books.ts";
import { guarded, unguarded } from "./guard.ts";
import type { LeaseReply, LeaseRequest, LedgerRequest } from "./messages.ts";
import { checkRights, endOf, reservedFor, spilledOf } from "./rights.ts";
import type { Meters } from "./run.ts";
import type { Lease, LedgerState, Rights } from "./state.ts";

/** Longest lease. */
export const TTL_MS_MAX = 300_000;

/** Books what ended unreported as used: nobody knows what a silent holder spent. */
export function forfeitEnded(meters: Meters, state: LedgerState, now: number): LedgerState {
  if (!state.leases) return state;
  const policies = state.policies.map(policyOf);
  const leases: Lease[] = [];
  const booked: Booked[] = [];
  for (const lease of state.leases) {
    const left = leftOf(policies, lease, now, booked);
    if (left) leases.push(left);
  }
  if (leases.length === state.leases.length && leases.every((lease, nth) => lease === state.leases?.[nth]))
    return state;
  booked.sort((a, b) => a.at - b.at);
  const debts: number[] = [];
  const keys = state.keys.map((key, index) => {
    const meter = meters(index);
    const policy = policies[index] as Policy;
    const account = { key, debt: state.debts?.[index] ?? 0 };
    for (const { at, tokens } of booked) {
      account.debt = loadAccount(meter, policy, account, Math.max(at, account.key.at));
      account.debt += book(meter, tokens[index] as number);
      account.key = meter.save();
    }
    debts.push(account.debt);
    return account.key;
  });
  return stateOf({ ...state, keys }, debts, leases);
}

/** Tokens that count as used from `at` on, under each policy. */
interface Booked {
  at: number;
  tokens: readonly number[];
}

/** What is left of a lease at `now`; what isn't is added to `booked`. */
function leftOf(policies: readonly Policy[], lease: Lease, now: number, booked: Booked[]): Lease | null {
  // An end beyond any ttl means that the clock was set back.
  const latest = now + guarded(TTL_MS_MAX);
  let left = lease.end > latest ? { ...lease, end: latest } : lease;
  if (left.end <= now && (left.tokens > 0 || !left.rights)) {
    booked.push({ at: left.end, tokens: policies.map(() => left.tokens) });
    left = { ...left, tokens: 0, want: 0 };
  }
  const rights = left.rights && rightsLeft(policies, left.rights, now, booked);
  if (rights === left.rights) return left.end <= now && !rights ? null : left;
  const { rights: _, ...lasting } = left;
  if (rights) return { ...lasting, rights };
  return left.end <= now ? null : lasting;
}

function rightsLeft(policies: readonly Policy[], rights: Rights, now: number, booked: Booked[]): Rights | undefined {
  // As above. How long the holder has been silent isn't known then: perhaps long.
  if (rights.at > now) return { ...rights, at: now, heardAt: 0, bookedTo: now };
  const spilled = policies.map((policy) => spilledOf(policy, rights, now));
  if (spilled.some((tokens) => tokens > 0)) booked.push({ at: rights.bookedTo, tokens: spilled });
  const end = endOf(rights);
  if (end <= now) {
    const unknown = policies.map((policy) => rights.overdraft + reservedFor(policy, rights, end));
    booked.push({ at: end, tokens: unknown });
    return undefined;
  }
  return spilled.some((tokens) => tokens > 0) ? { ...rights, bookedTo: now } : rights;
}

/** The state with these debts and leases, without the ones that say nothing. */
export function stateOf(state: LedgerState, debts: readonly number[], leases: Lease[]): LedgerState {
  const { debts: _, leases: __, ...rest } = state;
  const next: LedgerState = rest;
  if (debts.some((debt) => debt > 0)) next.debts = [...debts];
  if (leases.length > 0) next.leases = leases;
  return next;
}

/** What leases are granted out of: a key's budget, or what a holder that lends on has of one. */
export interface Budget {
  /** Tokens that are leased out, and so reserved. */
  leased: number;
  /** Until the first of those leases ends, ms. */
  firstEndMs: number;
  /** Tokens that a plan above lets through, what is granted of leases included; Infinity without one. */
  readonly allowance: number;
  /** Counts tokens as used that a holder has spent. */
  book(tokens: number): void;
  /** Whole tokens that are left, those that are leased aside; negative: promised ahead. */
  free(): number;
  /** Ms until there are `tokens` besides those that are reserved, within `withinMs`; null: that isn't known. */
  waitFor(tokens: number, withinMs: number): number | null;
  /** Until all of it is there again, ms. */
  resetMs(now: number): number;
  /** Most that may be leased out at a time. */
  leasable(): number;
  /** Tokens that come back within `ms` while it is used up. */
  refill(ms: number): number;
  /** How long a lease may last from now, by the guarded clock of the one who grants it. */
  longestMs(now: number): number;
}

/** The leases of a key while one holder's is dealt with. */
export interface Settled {
  /** All of them, as they were. */
  leases: Lease[];
  others: Lease[];
  own: Lease | undefined;
  /** Tokens that the holder keeps. */
  kept: number;
  /** Its rights from now on; absent: none. */
  rights?: Rights | undefined;
}

/** Books what the holder reports as used, takes back what it returns, and reserves the rest. */
export function settle(run: Budget, leases: Lease[], { holder, sync }: LedgerRequest, now: number): Settled {
  if (sync) check(sync);
  const own = leases.find((lease) => lease.holder === holder);
  const others = leases.filter((lease) => lease !== own);
  let kept = own?.tokens ?? 0;
  if (own && sync) {
    const spent = Math.min(Math.max(sync.used - own.used, 0), own.tokens);
    run.book(spent);
    kept = Math.min(own.tokens - spent, sync.held + sync.later);
  }
  run.leased = others.reduce((sum, { tokens }) => sum + tokens, kept);
  run.firstEndMs = Math.min(...leases.map(freeAt)) - now;
  return { leases, others, own, kept };
}

/**
 * Grants what is asked for as far as it goes.
 *
 * A lease is at most the holder's share of half of what is free, by what each would like to
 * have: blocks shrink as the budget runs out, and no more than half of it is ever out of others'
 * reach. Where nothing is free any more, it is a share of what will be refilled, to start then.
 */
export function grant(
  run: Budget,
  { leases, others, own, kept, rights }: Settled,
  { holder, seq }: LedgerRequest,
  sync: LeaseRequest,
  now: number,
): { leases: Lease[]; reply: LeaseReply } {
  const { ttlMs, longestMs } = termOf(run, sync.ttlMs, now);
  const want = sync.held + sync.later + sync.ask;
  const share = want / others.reduce((sum, lease) => sum + lease.want, Math.max(want, 1));
  const most = run.leasable();
  const free = run.free();
  const block = sync.block ?? Math.max(Math.floor(((free + kept) / 2) * share), 1);
  const room = ttlMs === 0 ? 0 : Math.max(Math.min(sync.ask, most - run.leased, run.allowance), 0);
  const granted = Math.max(Math.min(room, block - kept, free), 0);
  run.leased += granted;
  const withinMs = Math.floor(ttlMs / 2);
  const refill = Math.min(most, run.refill(withinMs));
  const mostLater = sync.later > 0 || refill < 1 ? 0 : (sync.block ?? Math.max(Math.floor(refill * share), 1));
  const { tokens: later, startsInMs } = grantLater(run, Math.min(room, mostLater - kept) - granted, withinMs);
  const keptLater = Math.min(sync.later, kept);
  const since = own ? own.since : seq;
  const reply: LeaseReply = {
    tokens: kept - keptLater + granted,
    ttlMs,
    later: keptLater + later,
    startsInMs,
    resetMs: run.resetMs(now),
  };
  if (since !== undefined) reply.since = since;
  if (rights) reply.debt = Math.max(-free, 0);
  const tokens = kept + granted + later;
  // Without tokens a lease says that its holder would have some: it has its part in the sharing.
  if (tokens === 0 && !rights && (!own || sync.ask === 0)) return { leases: own ? others : leases, reply };
  const lease: Lease = { holder, tokens, want, used: sync.used, end: Math.max(own?.end ?? 0, now + longestMs) };
  if (since !== undefined) lease.since = since;
  if (rights) lease.rights = rights;
  return { leases: [...others, lease], reply };
}

/** How long a holder may count on its lease, and the ledger waits for it to end. */
export function termOf(run: Budget, wantedMs: number, now: number): { ttlMs: number; longestMs: number } {
  const longestMs = Math.min(guarded(wantedMs), run.longestMs(now));
  return { ttlMs: Math.min(wantedMs, unguarded(longestMs)), longestMs };
}

/** As many of `wanted` tokens as the budget grows by within `withinMs`, and when they are there. */
function grantLater(run: Budget, wanted: number, withinMs: number): { tokens: number; startsInMs: number } {
  for (let tokens = wanted; tokens >= 1; tokens = Math.floor(tokens / 2)) {
    const waitMs = run.waitFor(tokens, withinMs);
    if (waitMs === 0) break;
    if (waitMs === null || waitMs > withinMs) continue;
    run.leased += tokens;
    return { tokens, startsInMs: guarded(waitMs) };
  }
  return { tokens: 0, startsInMs: 0 };
}

/** When what is reserved for it will be free at the latest. */
function freeAt({ tokens, end, rights }: Lease): number {
  return tokens > 0 || !rights ? end : endOf(rights);
}

function check({ used, held, later, ask, ttlMs, block = 1, rights }: LeaseRequest): void {
  if (rights) checkRights(rights);
  const whole = [used, held, later, ask, ttlMs - 1, block - 1].every(
    (value) => Number.isSafeInteger(value) && value >= 0,
  );
  if (!whole || ttlMs > TTL_MS_MAX) throw new RangeError("sync must hold whole numbers, and a ttl of up to 5 min");
}
