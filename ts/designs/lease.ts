import { requireKnown } from "../errors.ts";
import { TTL_MS_MAX } from "../ledger/leases.ts";
import { TTL_MS_MIN } from "../link/lease-hold.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import { type LeaseDesign, type LinkedDesign, made } from "./design.ts";
import { blockOf } from "./terms.ts";

export interface LeaseOptions {
  /** Tokens per lease, a positive integer up to the policy's capacity; or "adaptive", unless given. */
  block?: number | "adaptive";
  /**
   * How long a lease lasts, 500 ms to 5 min. Unless given: "5s", or a tenth of a sliding window
   * if that is shorter, since what a holder spends counts from when it tells the ledger.
   */
  ttl?: Duration;
}

/**
 * Grants each PoP a block of tokens, and lets it spend them alone.
 *
 * Safety: none above the limit, whatever is cut off (`test/sim/lease.test.ts`).
 * Loss: tokens that others hold can't be had, until they are returned or their leases end.
 * Cost: one round trip per block, none on the way of a call while the block lasts.
 *
 * @throws {RangeError} an option is unknown or out of range
 */
export function lease(options: LeaseOptions = {}): LinkedDesign {
  requireKnown("lease", options, ["block", "ttl"]);
  const { ttl } = options;
  const ttlMs = ttl === undefined ? undefined : toMs("ttl", ttl, TTL_MS_MIN, TTL_MS_MAX);
  return made<LeaseDesign>({ kind: "lease", block: blockOf(options.block), ttlMs });
}
