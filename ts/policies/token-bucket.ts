import type { Policy } from "../contract.ts";
import { badOption, requireInteger, requireKnown } from "../errors.ts";
import { type Duration, toMs } from "./duration.ts";
import { policyFrom } from "./policy.ts";
import { reduceRate } from "./reduce.ts";

/** Bounds within which every value of core-as/token-bucket.ts stays an exact integer. */
const TICKS_PER_MS_MAX = 2 ** 21;
const FULL_TICKS_MAX = 2 ** 51;

export interface TokenBucketOptions {
  /** Tokens that flow in per `per`, a positive integer. */
  rate: number;
  /** Span of `rate`; "1s" unless given. */
  per?: Duration;
  /** The bucket's size in tokens, a positive integer; `rate` unless given. */
  burst?: number;
}

/**
 * A bucket of `burst` tokens, refilled evenly at `rate` per `per`.
 *
 * In every interval of length W at most burst + rate × W / per tokens are admitted. The
 * arithmetic is exact for every rate of up to 2,097,152 tokens per ms whose reduced fraction
 * of tokens per ms has a numerator of that size at most. Any other rate is rounded down to
 * the closest such fraction (it never admits more), and `policy.exact` is false.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 * Source: the generic cell rate algorithm, ITU-T I.371.
 */
export function tokenBucket(options: TokenBucketOptions): Policy {
  requireKnown("tokenBucket", options, ["rate", "per", "burst"]);
  const rate = requireInteger("rate", options.rate);
  const per = toMs("per", options.per ?? "1s");
  const burst = requireInteger("burst", options.burst ?? rate);
  if (rate / per > TICKS_PER_MS_MAX) {
    throw badOption("rate", rate, `at most ${TICKS_PER_MS_MAX * per} per ${per} ms`);
  }
  const { p, q, exact } = reduceRate(rate, per, TICKS_PER_MS_MAX);
  const full = burst * q;
  if (full > FULL_TICKS_MAX) {
    throw badOption("burst", burst, `at most ${Math.floor(FULL_TICKS_MAX / q)} at a rate of ${rate} per ${per} ms`);
  }
  return policyFrom({ kind: "tokenBucket", rate, per, burst }, burst, exact, [p, q, full], 1);
}
