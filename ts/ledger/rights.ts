// What a holder may admit while it hears nothing from the ledger: an overdraft at once, and its
// share of the rate once it has been cut off for a while.
//
// The overdraft is booked when it is told of, even beyond the limit: as a debt, which is paid
// before anyone is granted anything. The share never goes beyond the limit, since the ledger
// reserves it for whoever may be taking from it. It goes by the last answer that the holder is
// known to have heard: others may have been lost, and then the holder thinks itself cut off while
// the ledger still hears it.
import type { Policy } from "../contract.ts";
import { guarded } from "./guard.ts";
import type { Settled } from "./leases.ts";
import type { LedgerRequest, RightsRequest } from "./messages.ts";
import type { Run } from "./run.ts";
import type { Rights } from "./state.ts";

/** How long a holder that hears nothing keeps its rights. What it may have admitted by then is booked. */
export const SILENT_MS_MAX = 10 * 60_000;

/**
 * Most tokens that a share saves up: what is reserved for it.
 *
 * All shares and all leases together must fit into the budget, and leases may take up half of it.
 * Those of a fixed window end with it, so that they don't stand in the way of the next one's shares.
 */
export function shareOf({ capacity, kind }: Policy, pops: number): number {
  return Math.floor(capacity / (kind === "fixedWindow" ? pops : 2 * pops));
}

/** Tokens that a bucket's share has yielded by `at`. */
function yieldOf({ spec }: Policy, { heardAt, blindMs, pops }: Rights, at: number): number {
  if (spec.kind !== "tokenBucket") return 0;
  return (Math.max(at - heardAt - blindMs, 0) * spec.rate) / (spec.per * pops);
}

/** Tokens that the holder may have taken from its share by now, and that are not booked. */
export function reservedFor(policy: Policy, rights: Rights, now: number): number {
  if (!rights.share || now < rights.heardAt + rights.blindMs) return 0;
  const most = shareOf(policy, rights.pops);
  return policy.kind === "tokenBucket" ? Math.min(Math.ceil(yieldOf(policy, rights, now)), most) : most;
}

/** Tokens that the share has yielded since `bookedTo` beyond what it saves up: they count as used. */
export function spilledOf(policy: Policy, rights: Rights, now: number): number {
  if (!rights.share) return 0;
  const most = shareOf(policy, rights.pops);
  const beyond = (at: number) => Math.max(Math.floor(yieldOf(policy, rights, at)) - most, 0);
  return beyond(now) - beyond(rights.bookedTo);
}

/** When the rights end, and what the holder may have admitted counts as used. */
export function endOf({ at }: Rights): number {
  return at + guarded(SILENT_MS_MAX);
}

/**
 * Books what the holder reports to have admitted without a lease, and reserves what anyone may take
 * from a share.
 */
export function settleRights(run: Run, settled: Settled, { sync }: LedgerRequest, now: number): void {
  const { own, others } = settled;
  const had = own?.rights;
  if (had && sync?.rights) {
    run.book(Math.max(sync.rights.overdrawn - had.overdrawn, 0));
    const taken = Math.max(sync.rights.shared - had.shared, 0);
    run.bookEach((policy) => Math.min(taken, reservedFor(policy, had, now)));
  }
  const all = others.flatMap(({ rights }) => rights ?? []);
  settled.rights = sync?.rights ? granted(had, sync.rights, all.length, now) : had;
  if (settled.rights) all.push(settled.rights);
  if (all.length === 0) return;
  run.reserve((policy, inMs) => {
    const at = now + inMs;
    return all.reduce((sum, rights) => sum + reservedFor(policy, rights, at) + spilledOf(policy, rights, at), 0);
  });
}

/** The rights that a holder has after its request: it keeps those that it had, and gets some while there are any. */
function granted(had: Rights | undefined, request: RightsRequest, taken: number, now: number): Rights | undefined {
  return request.keep && (had || taken < request.pops) ? renewed(had, request, now) : undefined;
}

function renewed(own: Rights | undefined, request: RightsRequest, now: number): Rights {
  // One by one: what else a request may hold is not to be stored.
  const { pops, blindMs, share, overdraft, overdrawn, shared, asked, heard } = request;
  const heardAt = own && own.asked !== heard ? own.heardAt : (own?.at ?? now);
  return { pops, blindMs, share, overdraft, overdrawn, shared, asked, at: now, heardAt, bookedTo: now };
}

/** @throws {RangeError} a number makes no sense */
export function checkRights({ pops, blindMs, overdraft, overdrawn, shared, asked, heard }: RightsRequest): void {
  const whole = [pops - 1, blindMs, overdraft, overdrawn, shared, asked - 1, heard].every(
    (value) => Number.isSafeInteger(value) && value >= 0,
  );
  if (!whole) throw new RangeError("sync.rights must hold whole numbers");
}
