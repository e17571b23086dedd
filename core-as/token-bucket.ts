// A token bucket whose whole state is one number: the theoretical arrival time (TAT), the
// moment at which the bucket will be full again. Time is counted in ticks of 1/p ms, and a
// token takes q ticks to refill, where p/q is the rate in tokens per ms in lowest terms. All
// values are then integers, and exact while they stay below 2^53: the policy's constructor
// holds burst × q below 2^51 and p below 2^21 (ts/policies/token-bucket.ts), and whoever keeps
// the state moves its epoch before a now reaches 2^51 ticks (12 days or more).
//
//   policy  [p, q, full]       full = burst × q, the ticks that an empty bucket takes to fill
//   state   [tat]              zero, or any tat <= now: the bucket is full
//   out     [admitted, remaining, retryAfterMs, resetMs]    retryAfterMs = -1: never
import { Cells } from "./cells";

/** The stored TAT, never before now (full) and never more than a whole bucket after it. */
// A later one means that the clock was set back while nobody ran.
function clamp(tat: f64, now: f64, full: f64): f64 {
  return Math.min(Math.max(tat, now), now + full);
}

/** Whether `cost` tokens are there at `nowMs` after the epoch of the state; takes them if `commit`. */
export function takeBucket(policy: Cells, state: Cells, nowMs: f64, cost: f64, commit: bool): bool {
  const full = policy[2];
  const now = nowMs * policy[0];
  const tat = clamp(state[0], now, full) + cost * policy[1];
  const admitted = tat - now <= full;
  if (admitted && commit) state[0] = tat;
  return admitted;
}

/** Writes the rest of `out` for a call that takeBucket has just decided. */
export function reportBucket(policy: Cells, state: Cells, out: Cells, nowMs: f64, cost: f64, admitted: bool): void {
  const p = policy[0];
  const full = policy[2];
  const price = cost * policy[1];
  const now = nowMs * p;
  const tat = clamp(state[0], now, full);
  out[1] = Math.floor((full - (tat - now)) / policy[1]);
  out[2] = admitted ? 0 : price > full ? -1 : Math.ceil((tat + price - now - full) / p);
  out[3] = Math.ceil((tat - now) / p);
}

/** Moves the epoch of the state `elapsedMs` onwards. */
// The product is exact where it matters: below the TAT, which is below 2^53.
export function rebaseBucket(policy: Cells, state: Cells, elapsedMs: f64): void {
  state[0] = Math.max(state[0] - elapsedMs * policy[0], 0);
}

/** Gives `count` tokens back; the level never rises above the burst. */
export function refundBucket(policy: Cells, state: Cells, nowMs: f64, count: f64): void {
  const now = nowMs * policy[0];
  state[0] = Math.max(clamp(state[0], now, policy[2]) - count * policy[1], now);
}
