// The ledger's way into the arithmetic: the host writes a policy and a key's state here, makes
// its calls, and reads the state back. One key at a time; nothing is kept between keys.
import { Cells } from "./cells";
import { reserve } from "./memory";
import { decide, refund } from "./policy";
import { rebaseBucket } from "./token-bucket";

/** Where a decision is written: [admitted, remaining, retryAfterMs, resetMs]. */
export const outAt: usize = memory.data(32);
/** Where the host writes the policy's constants. */
export const policyAt: usize = memory.data(32);

let stateAt: usize = 0;
let stateBytes: usize = 0;

/** Makes room for a state of `cells` values, and says where. The room is not cleared. */
export function scratch(cells: u32): usize {
  const bytes = (<usize>cells) << 3;
  if (bytes > stateBytes) {
    // Nothing is given back; growing in doublings bounds what is lost.
    stateBytes = max(bytes, stateBytes << 1);
    stateAt = reserve(stateBytes, 8);
  }
  return stateAt;
}

/** Decides on the state in the scratch room; see the policy's file. */
export function scratchDecide(kind: u32, now: f64, cost: f64, commit: bool): bool {
  return decide(
    kind,
    changetype<Cells>(policyAt),
    changetype<Cells>(stateAt),
    changetype<Cells>(outAt),
    now,
    cost,
    commit,
  );
}

/** Refunds on the state in the scratch room. */
export function scratchRefund(kind: u32, now: f64, count: f64): void {
  refund(kind, changetype<Cells>(policyAt), changetype<Cells>(stateAt), now, count);
}

/** Moves the epoch of a token bucket's state in the scratch room `elapsedMs` onwards. */
export function scratchRebase(elapsedMs: f64): void {
  rebaseBucket(changetype<Cells>(policyAt), changetype<Cells>(stateAt), elapsedMs);
}
