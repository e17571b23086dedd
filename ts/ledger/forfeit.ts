import { policyOf } from "../policies/spec.ts";
import type { LedgerState } from "./state.ts";
import type { Meters } from "./step.ts";

/**
 * The state of a key after a crash: what may have been admitted since it was stored is booked
 * now. Admissions are never booked earlier than they happened, so nothing is admitted twice.
 */
export function forfeitReserved(meters: Meters, state: LedgerState, now: number): LedgerState {
  const { reserved = 0, ...rest } = state;
  if (reserved === 0) return state;
  const keys = rest.keys.map((key, index) => {
    const meter = meters(index);
    meter.load(policyOf(rest.policies[index] as never), key, now);
    meter.decide(1, false);
    if (meter.remaining > 0) meter.decide(Math.min(reserved, meter.remaining), true);
    return meter.save();
  });
  return { ...rest, keys };
}
