import { type CreateLimiter, limiterFor } from "./create-limiter.ts";
import { ambient } from "./hosts/ambient.ts";

/**
 * Makes a limiter.
 *
 * @throws {RangeError} an option is missing, out of range, unknown, or does not fit another
 */
export const createLimiter: CreateLimiter = limiterFor(ambient);

export type * from "./contract.ts";
export type { CreateLimiter, LimiterOptions } from "./create-limiter.ts";
export type { Design, LinkedDesign, LocalDesign } from "./designs/design.ts";
export { type ExactOptions, exact } from "./designs/exact.ts";
export { type LeaseOptions, lease } from "./designs/lease.ts";
export type { ClosableLink, Link, LinkContext, LinkOptions, OnUnreachable, PlacedLink } from "./designs/link.ts";
export { type LocalOptions, local } from "./designs/local.ts";
export { type OptimisticOptions, optimistic } from "./designs/optimistic.ts";
export { type ShardedOptions, sharded } from "./designs/sharded.ts";
export { LimiterError, type LimiterErrorCode } from "./errors.ts";
export { lazy, reserve, strict } from "./ledger/durability.ts";
export type { Carry, Durability, Ledgers } from "./ledger/messages.ts";
export type { Duration } from "./policies/duration.ts";
export { type FixedWindowOptions, fixedWindow } from "./policies/fixed-window.ts";
export { parsePolicy } from "./policies/parse.ts";
export { type SlidingWindowOptions, slidingWindow } from "./policies/sliding-window.ts";
export { type TokenBucketOptions, tokenBucket } from "./policies/token-bucket.ts";
