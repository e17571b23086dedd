import type { KeyState, Policy } from "../contract.ts";
import type { Meter } from "../core/meter.ts";

/**
 * Loads into the meter what a key that lived under the policy `from` is under `to`: it keeps
 * the share of its budget that it has used, rounded up to whole tokens, so that changing a
 * policy is never a free refill.
 */
export function loadCarried(meter: Meter, from: Policy, to: Policy, key: KeyState, now: number): void {
  meter.load(from, key, now);
  const { remaining } = meter.decide(1, false);
  const used = Math.ceil(((from.capacity - remaining) / from.capacity) * to.capacity);
  meter.load(to, null, now);
  if (used > 0) meter.decide(Math.min(used, to.capacity), true);
}
