// One door to the three policies, which share their signatures.
import { Cells } from "./cells";
import { decideFixed, refundFixed } from "./fixed-window";
import { decideSliding, refundSliding } from "./sliding-window";
import { decideBucket, refundBucket } from "./token-bucket";

export const TOKEN_BUCKET: u32 = 0;
export const FIXED_WINDOW: u32 = 1;
export const SLIDING_WINDOW: u32 = 2;

/** Decides `cost` at `now`, and takes it if `commit`. Times as the policy's file says. */
export function decide(kind: u32, policy: Cells, state: Cells, out: Cells, now: f64, cost: f64, commit: bool): bool {
  if (kind == TOKEN_BUCKET) return decideBucket(policy, state, out, now, cost, commit);
  if (kind == FIXED_WINDOW) return decideFixed(policy, state, out, now, cost, commit);
  return decideSliding(policy, state, out, now, cost, commit);
}

/** Gives `count` tokens back at `now`. */
export function refund(kind: u32, policy: Cells, state: Cells, now: f64, count: f64): void {
  if (kind == TOKEN_BUCKET) refundBucket(policy, state, now, count);
  else if (kind == FIXED_WINDOW) refundFixed(policy, state, now, count);
  else refundSliding(policy, state, now, count);
}
