// At most `limit` in every half-open interval (t - window, t].
//
// Admissions are kept as runs: one per resolution step that admitted anything, with the index
// of the step and the count. A run is kept until the end of its step + window, so a step
// longer than 1 ms holds its admissions back by at most the step (safe: it under-admits), and
// with 1 ms the window is exact. The runs are a ring of a fixed size (`room`).
//
//   policy  [limit, window, step, room]                          window and step in ms
//   state   [total, head, length, (index, count) × room]         total = sum of the counts
//   out     [admitted, remaining, retryAfterMs, resetMs]         retryAfterMs = -1: never
import { Cells } from "./cells";

/** Where the run that is `nth` after the oldest begins in the state. */
function slot(policy: Cells, state: Cells, nth: f64): f64 {
  let at = state[1] + nth;
  if (at >= policy[3]) at -= policy[3];
  return 3 + 2 * at;
}

/** Where the oldest run begins. */
function oldestIn(state: Cells): f64 {
  return 3 + 2 * state[1];
}

/** The first ms at which a run of step `index` counts no more. */
function expiry(policy: Cells, index: f64): f64 {
  return (index + 1) * policy[2] - 1 + policy[1];
}

function dropOldest(policy: Cells, state: Cells): void {
  state[0] -= state[oldestIn(state) + 1];
  state[1] = state[1] + 1 == policy[3] ? 0 : state[1] + 1;
  state[2] -= 1;
}

/** Drops the runs that ended by `now`, and moves those of a later step into this one. */
// Runs of a later step mean that the clock was set back while nobody ran. They merge, so that
// the ring never holds two runs of one step and its room suffices.
function settle(policy: Cells, state: Cells, now: f64): void {
  while (state[2] > 0 && expiry(policy, state[oldestIn(state)]) <= now) dropOldest(policy, state);
  if (state[2] == 0) return;
  const step = Math.floor(now / policy[2]);
  let newest = slot(policy, state, state[2] - 1);
  while (state[2] > 1) {
    const before = slot(policy, state, state[2] - 2);
    if (state[before] < step) break;
    state[before + 1] += state[newest + 1];
    state[2] -= 1;
    newest = before;
  }
  state[newest] = Math.min(state[newest], step);
}

function append(policy: Cells, state: Cells, step: f64, cost: f64): void {
  state[0] += cost;
  if (state[2] > 0) {
    const newest = slot(policy, state, state[2] - 1);
    if (state[newest] == step) {
      state[newest + 1] += cost;
      return;
    }
  }
  const free = slot(policy, state, state[2]);
  state[free] = step;
  state[free + 1] = cost;
  state[2] += 1;
}

/** When the newest run ends, epoch ms: nothing of the state counts any more; 0 if there is none. */
export function slidingEnd(policy: Cells, state: Cells): f64 {
  return state[2] > 0 ? expiry(policy, state[slot(policy, state, state[2] - 1)]) : 0;
}

/** Whether `cost` is left at `now` (epoch ms); takes it if `commit`. */
export function takeSliding(policy: Cells, state: Cells, now: f64, cost: f64, commit: bool): bool {
  settle(policy, state, now);
  const admitted = state[0] + cost <= policy[0];
  if (admitted && commit) append(policy, state, Math.floor(now / policy[2]), cost);
  return admitted;
}

/** Writes the rest of `out` for a call that takeSliding has just decided. */
export function reportSliding(policy: Cells, state: Cells, out: Cells, now: f64, cost: f64, admitted: bool): void {
  const limit = policy[0];
  out[1] = Math.max(limit - state[0], 0);
  out[2] = admitted ? 0 : cost > limit ? -1 : untilFreed(policy, state, now, state[0] + cost - limit);
  out[3] = Math.max(slidingEnd(policy, state) - now, 0);
}

/** Ms until the oldest runs have given back `count`. */
function untilFreed(policy: Cells, state: Cells, now: f64, count: f64): f64 {
  let nth: f64 = 0;
  let at = oldestIn(state);
  let freed = state[at + 1];
  while (freed < count) {
    nth += 1;
    at = slot(policy, state, nth);
    freed += state[at + 1];
  }
  return expiry(policy, state[at]) - now;
}

/** Gives `count` back, the oldest first: whichever were meant, the rest counts long enough. */
export function refundSliding(policy: Cells, state: Cells, now: f64, count: f64): void {
  settle(policy, state, now);
  let left = count;
  while (left > 0 && state[2] > 0) {
    const oldest = oldestIn(state);
    if (state[oldest + 1] > left) {
      state[oldest + 1] -= left;
      state[0] -= left;
      return;
    }
    left -= state[oldest + 1];
    dropOldest(policy, state);
  }
}
