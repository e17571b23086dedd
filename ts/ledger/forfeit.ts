import { policyOf } from "../policies/spec.ts";
import { book } from "./books.ts";
import { forfeitEnded } from "./leases.ts";
import type { Meters } from "./run.ts";
import type { LedgerState } from "./state.ts";

/**
 * The state of a key after a crash: what may have been admitted since it was stored is booked
 * now. Admissions are never booked earlier than they happened, so nothing is admitted twice.
 * What is leased was not to be had for others, and is spared.
 */
export function forfeitReserved(meters: Meters, stored: LedgerState, now: number): LedgerState {
  if (!stored.reserved) return stored;
  const { reserved = 0, ...state } = forfeitEnded(meters, stored, now);
  const leased = (state.leases ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
  const keys = state.keys.map((key, index) => {
    const meter = meters(index);
    meter.load(policyOf(state.policies[index] as never), key, now);
    meter.decide(1, false);
    book(meter, Math.min(reserved, meter.remaining - leased));
    return meter.save();
  });
  if (!state.total) return { ...state, keys };
  // They may have been a plan's as well.
  return { ...state, keys, total: { ...state.total, used: state.total.used + reserved } };
}
