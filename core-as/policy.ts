// One door to the three policies, which share their signatures.
import { FIXED_WINDOW, TOKEN_BUCKET } from "../ts/core/abi";
import { Cells } from "./cells";
import { refundFixed, reportFixed, takeFixed } from "./fixed-window";
import { refundSliding, reportSliding, takeSliding } from "./sliding-window";
import { refundBucket, reportBucket, takeBucket } from "./token-bucket";

/** Whether `cost` is there at `now`; takes it if `commit`. Times as the policy's file says. */
export function take(kind: u32, policy: Cells, state: Cells, now: f64, cost: f64, commit: bool): bool {
  if (kind == TOKEN_BUCKET) return takeBucket(policy, state, now, cost, commit);
  if (kind == FIXED_WINDOW) return takeFixed(policy, state, now, cost, commit);
  return takeSliding(policy, state, now, cost, commit);
}

/** Writes `out` for a call that `take` has just decided. */
export function report(kind: u32, policy: Cells, state: Cells, out: Cells, now: f64, cost: f64, admitted: bool): void {
  out[0] = admitted ? 1 : 0;
  if (kind == TOKEN_BUCKET) reportBucket(policy, state, out, now, cost, admitted);
  else if (kind == FIXED_WINDOW) reportFixed(policy, state, out, now, cost, admitted);
  else reportSliding(policy, state, out, now, cost, admitted);
}

/** Decides `cost` at `now`, takes it if `commit`, and writes `out`. */
export function decide(kind: u32, policy: Cells, state: Cells, out: Cells, now: f64, cost: f64, commit: bool): bool {
  const admitted = take(kind, policy, state, now, cost, commit);
  report(kind, policy, state, out, now, cost, admitted);
  return admitted;
}

/** Gives `count` tokens back at `now`. */
export function refund(kind: u32, policy: Cells, state: Cells, now: f64, count: f64): void {
  if (kind == TOKEN_BUCKET) refundBucket(policy, state, now, count);
  else if (kind == FIXED_WINDOW) refundFixed(policy, state, now, count);
  else refundSliding(policy, state, now, count);
}
