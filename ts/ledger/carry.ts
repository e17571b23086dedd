import type { KeyState, Policy } from "../contract.ts";
import type { Meter } from "../core/meter.ts";
import type { Carry } from "./messages.ts";

/**
 * Loads into the meter what a key that lived under the policy `from` is under `to`.
 *
 * - "share": the share of the budget that is used stays, rounded up; never a free refill
 * - "used": the tokens that are used stay, as far as the new capacity goes
 * - "reset": the budget is whole
 */
export function loadCarried(meter: Meter, from: Policy, to: Policy, key: KeyState, now: number, carry: Carry): void {
  meter.load(from, key, now);
  meter.decide(1, false);
  const used = from.capacity - meter.remaining;
  const ticks = meter.save().cells[0] ?? 0;
  if (carry === "share" && from.kind === "tokenBucket" && to.kind === "tokenBucket") {
    meter.load(to, { at: now, cells: [shareOfTicks(ticks, from, to)] }, now);
    return;
  }
  meter.load(to, null, now);
  if (carry === "reset" || used <= 0) return;
  const kept = carry === "used" ? used : Math.ceil((used / from.capacity) * to.capacity);
  meter.decide(Math.min(kept, to.capacity), true);
}

/** A bucket's share, to the tick: a level carried to and fro must not creep. */
// The quotient's rounding is below one tick, which the added one makes up for.
function shareOfTicks(ticks: number, from: Policy, to: Policy): number {
  const full = to.constants[2] as number;
  return ticks === 0 ? 0 : Math.min(Math.floor((ticks / (from.constants[2] as number)) * full) + 1, full);
}
