// Leases: tokens that a holder may spend without asking. The policy's state records what is
// settled only, that is, reported as used, or ended unreported. What is leased until then stays
// reserved: it is kept apart from what else is admitted, under the ceiling of a bucket too.
// So nothing is booked before it can have happened, and admissions of any interval were either
// booked in it or are leased at its end: together no more than the policy allows.
import type { Policy } from "../contract.ts";
import { policyOf } from "../policies/spec.ts";
import type { LeaseReply, LeaseRequest, LedgerRequest } from "./messages.ts";
import { book, type Meters, type Run } from "./run.ts";
import type { Lease, LedgerState } from "./state.ts";

/** Longest lease. */
export const TTL_MS_MAX = 300_000;

/**
 * How long a ledger waits so that a holder has surely counted `ms`.
 *
 * Clocks drift, and in Workers a clock stands still between I/O: 2 % and 50 ms are more than
 * that. No time of day ever crosses the network.
 */
export function guarded(ms: number): number {
  return Math.ceil(ms * 1.02) + 50;
}

/** The longest that a holder may count so that guarded() is no more than `ms`; 0: not at all. */
function unguarded(ms: number): number {
  return Math.max(Math.floor((ms - 50) / 1.02), 0);
}

/** Counts what ended unreported as used, at its end: nobody knows what a silent holder spent. */
export function forfeitEnded(meters: Meters, state: LedgerState, now: number): LedgerState {
  if (!state.leases) return state;
  // An end beyond any ttl means that the clock was set back.
  const latest = now + guarded(TTL_MS_MAX);
  if (!state.leases.some(({ end }) => end <= now || end > latest)) return state;
  const ended = state.leases.filter(({ end }) => end <= now).sort((a, b) => a.end - b.end);
  const keys = state.keys.map((key, index) => {
    const meter = meters(index);
    const policy = policyOf(state.policies[index] as never);
    let settled = key;
    for (const { tokens, end } of ended) {
      if (tokens === 0) continue;
      meter.load(policy, settled, Math.max(end, settled.at));
      book(meter, tokens);
      settled = meter.save();
    }
    return settled;
  });
  const { leases: _, ...rest } = { ...state, keys };
  const left = state.leases
    .filter(({ end }) => end > now)
    .map((lease) => ({ ...lease, end: Math.min(lease.end, latest) }));
  return left.length > 0 ? { ...rest, leases: left } : rest;
}

/** The leases of a key while one holder's is dealt with. */
export interface Settled {
  /** All of them, as they were. */
  leases: Lease[];
  others: Lease[];
  own: Lease | undefined;
  /** Tokens that the holder keeps. */
  kept: number;
}

/** Books what the holder reports as used, takes back what it returns, and reserves the rest. */
export function settle(run: Run, leases: Lease[], { holder, sync }: LedgerRequest, now: number): Settled {
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
  run.firstEndMs = Math.min(...leases.map(({ end }) => end)) - now;
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
  run: Run,
  policies: readonly Policy[],
  { leases, others, own, kept }: Settled,
  holder: string,
  sync: LeaseRequest,
  now: number,
): { leases: Lease[]; reply: LeaseReply } {
  const { ttlMs, end } = termOf(policies, sync.ttlMs, now);
  const want = sync.held + sync.later + sync.ask;
  const share = want / others.reduce((sum, lease) => sum + lease.want, Math.max(want, 1));
  const half = Math.floor(Math.min(...policies.map(({ capacity }) => capacity)) / 2);
  const free = run.free();
  const most = sync.block ?? Math.max(Math.floor(((free + kept) / 2) * share), 1);
  const room = ttlMs === 0 ? 0 : Math.max(Math.min(sync.ask, half - run.leased, run.allowance), 0);
  const granted = Math.max(Math.min(room, most - kept, free), 0);
  run.leased += granted;
  const withinMs = Math.floor(ttlMs / 2);
  const refill = Math.min(half, ...policies.map((policy) => refillOf(policy, withinMs)));
  const mostLater = sync.later > 0 || refill < 1 ? 0 : (sync.block ?? Math.max(Math.floor(refill * share), 1));
  const { tokens: later, startsInMs } = grantLater(run, Math.min(room, mostLater - kept) - granted, withinMs);
  const keptLater = Math.min(sync.later, kept);
  const reply: LeaseReply = {
    tokens: kept - keptLater + granted,
    ttlMs,
    later: keptLater + later,
    startsInMs,
    resetMs: run.wholeAt(now) - now,
  };
  const tokens = kept + granted + later;
  // Without tokens a lease says that its holder would have some: it has its part in the sharing.
  if (tokens === 0 && (!own || sync.ask === 0)) return { leases: own ? others : leases, reply };
  const lease = { holder, tokens, want, used: sync.used, end: Math.max(own?.end ?? 0, end) };
  return { leases: [...others, lease], reply };
}

/** As many of `wanted` tokens as the budget grows by within `withinMs`, and when they are there. */
function grantLater(run: Run, wanted: number, withinMs: number): { tokens: number; startsInMs: number } {
  for (let tokens = wanted; tokens >= 1; tokens = Math.floor(tokens / 2)) {
    const waitMs = run.waitFor(tokens);
    if (waitMs === 0) break;
    if (waitMs === null || waitMs > withinMs) continue;
    run.leased += tokens;
    return { tokens, startsInMs: guarded(waitMs) };
  }
  return { tokens: 0, startsInMs: 0 };
}

/** Tokens that come back in `ms` while the policy is at its limit. */
function refillOf({ spec }: Policy, ms: number): number {
  if (spec.kind === "tokenBucket") return (spec.rate * ms) / spec.per;
  // A fixed window gives nothing back before it ends, and no lease may outlive it.
  return spec.kind === "fixedWindow" ? 0 : (spec.limit * ms) / spec.window;
}

/** The holder's ttl, and the ledger's end of it: within each fixed window. */
export function termOf(policies: readonly Policy[], ttlMs: number, now: number): { ttlMs: number; end: number } {
  let longest = guarded(ttlMs);
  for (const { spec } of policies) {
    if (spec.kind === "fixedWindow") longest = Math.min(longest, spec.window - 1 - (now % spec.window));
  }
  return { ttlMs: Math.min(ttlMs, unguarded(longest)), end: now + longest };
}

/** Ms in which an empty budget becomes whole. */
export function untilWholeMs(policies: readonly Policy[]): number {
  const each = policies.map(({ spec, constants }) => {
    if (spec.kind === "tokenBucket") return Math.ceil((constants[2] as number) / (constants[0] as number));
    return spec.kind === "fixedWindow" ? spec.window : spec.window + spec.resolution;
  });
  return Math.max(...each);
}

function check({ used, held, later, ask, ttlMs, block = 1 }: LeaseRequest): void {
  const whole = [used, held, later, ask, ttlMs - 1, block - 1].every(
    (value) => Number.isSafeInteger(value) && value >= 0,
  );
  if (!whole || ttlMs > TTL_MS_MAX) throw new RangeError("sync must hold whole numbers, and a ttl of up to 5 min");
}
