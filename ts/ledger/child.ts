// The child's side of a plan. A child may let through what it is allotted, and tells totals: what
// it has used and given back since it began, and what it has leased out. Then it doesn't matter
// which of its answers got lost: the next one says all that the plan needs to know.
import type { Allotment } from "./messages.ts";
import type { Run } from "./run.ts";
import type { LedgerState } from "./state.ts";

/** What a child has used and given back in all. */
export type Total = NonNullable<LedgerState["total"]>;

/** Tokens that are leased out. */
export function leasedIn(state: LedgerState | null): number {
  return (state?.leases ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** The totals of a child whose ended leases have just been counted as used. */
export function totalOf(before: LedgerState | null, settled: LedgerState | null): Total {
  const { used, back } = before?.total ?? { used: 0, back: 0 };
  return { used: used + leasedIn(before) - leasedIn(settled), back };
}

/**
 * Lets the run use what the child is allotted and has not used yet. Its lease must be settled.
 *
 * A child that has lost its memory counts on from where the plan last heard of it.
 */
export function allot(run: Run, total: Total, { used, back, tokens }: Allotment): Total {
  const counted = { used: Math.max(total.used, used), back: Math.max(total.back, back) };
  run.allowance = Math.max(tokens - (counted.used + run.booked - used) - run.leased, 0);
  return counted;
}
