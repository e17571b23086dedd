import { ambient } from "./hosts/ambient.ts";
import { limiterFor } from "./limiter.ts";

export const createLimiter = limiterFor(ambient);

export type * from "./contract.ts";
export { exact } from "./designs/exact.ts";
export { type LocalOptions, local } from "./designs/local.ts";
export { LimiterError, type LimiterErrorCode } from "./errors.ts";
export type { LimiterOptions } from "./limiter.ts";
export type { Duration } from "./policies/duration.ts";
export { type FixedWindowOptions, fixedWindow } from "./policies/fixed-window.ts";
export { parsePolicy } from "./policies/parse.ts";
export { type SlidingWindowOptions, slidingWindow } from "./policies/sliding-window.ts";
export { type TokenBucketOptions, tokenBucket } from "./policies/token-bucket.ts";
