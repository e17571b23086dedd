// At most `limit` per window, windows aligned to the Unix epoch.
//
//   policy  [limit, window]            window in ms
//   state   [start, used]              start of the window that `used` belongs to, epoch ms
//   out     [admitted, remaining, retryAfterMs, resetMs]    retryAfterMs = -1: never
import { Cells } from "./cells";

/** What the window that starts at `start` has used. */
// A state from a later window means that the clock was set back while nobody ran: what it
// used counts in this window, so that neither a free refill nor a frozen window comes of it.
function usedIn(state: Cells, start: f64): f64 {
  return state[0] < start ? 0 : state[1];
}

/** Whether `cost` is left at `now` (epoch ms); takes it if `commit`. */
export function takeFixed(policy: Cells, state: Cells, now: f64, cost: f64, commit: bool): bool {
  const start = Math.floor(now / policy[1]) * policy[1];
  const used = usedIn(state, start);
  const admitted = used + cost <= policy[0];
  const taken = admitted && commit;
  // A full window from later is moved here too, or it would count again in every one up to its own.
  if (taken || state[0] > start) {
    state[0] = start;
    state[1] = taken ? used + cost : used;
  }
  return admitted;
}

/** Writes the rest of `out` for a call that takeFixed has just decided. */
export function reportFixed(policy: Cells, state: Cells, out: Cells, now: f64, cost: f64, admitted: bool): void {
  const limit = policy[0];
  const start = Math.floor(now / policy[1]) * policy[1];
  const untilEnd = start + policy[1] - now;
  out[1] = Math.max(limit - usedIn(state, start), 0);
  out[2] = admitted ? 0 : cost > limit ? -1 : untilEnd;
  out[3] = untilEnd;
}

/** Gives `count` back to the window of `now`; earlier windows are past help. */
export function refundFixed(policy: Cells, state: Cells, now: f64, count: f64): void {
  const start = Math.floor(now / policy[1]) * policy[1];
  state[1] = Math.max(usedIn(state, start) - count, 0);
  // Of a whole budget nothing need be remembered.
  state[0] = state[1] > 0 ? start : 0;
}
