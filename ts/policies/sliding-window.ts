import type { Policy } from "../contract.ts";
import { badOption, requireInteger, requireKnown } from "../errors.ts";
import { type Duration, toMs } from "./duration.ts";
import { policyFrom } from "./policy.ts";

/** Runs that a key may need before the default resolution grows coarser. */
const RUNS_DEFAULT_MAX = 128;
/** Runs that a key may need at all: 1 MiB a key. */
const RUNS_MAX = 65_536;

export interface SlidingWindowOptions {
  /** Tokens in any window, a positive integer. */
  limit: number;
  /** The window's length. */
  window: Duration;
  /**
   * Admissions of one step of this length are remembered together, until the step's end +
   * window. "1ms" is exact. Unless given: the finest that needs no more than 128 runs a key,
   * which is 1 ms for every limit of up to 128.
   */
  resolution?: Duration;
}

/** Steps of `resolution` ms that can hold admissions still counted, or fewer if `limit` is. */
function runsFor(limit: number, window: number, resolution: number): number {
  return Math.min(limit, 1 + Math.ceil((window - 1) / resolution));
}

/**
 * At most `limit` in every half-open interval (t - window, t].
 *
 * A key remembers up to min(limit, window / resolution + 1) runs of (time, count), 16 bytes
 * each. A resolution above 1 ms holds admissions back by less than one step longer than needed:
 * it never admits more, and under-admits at most what one step admitted.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 */
export function slidingWindow(options: SlidingWindowOptions): Policy {
  requireKnown("slidingWindow", options, ["limit", "window", "resolution"]);
  const limit = requireInteger("limit", options.limit, 1, 2 ** 51);
  const window = toMs("window", options.window);
  const finest = runsFor(limit, window, 1) <= RUNS_DEFAULT_MAX ? 1 : Math.ceil(window / (RUNS_DEFAULT_MAX - 1));
  const resolution = toMs("resolution", options.resolution ?? finest, 1, window);
  const room = runsFor(limit, window, resolution);
  if (room > RUNS_MAX) {
    const least = Math.ceil(window / (RUNS_MAX - 1));
    throw badOption("resolution", resolution, `at least ${least} ms for a limit of ${limit} in ${window} ms`);
  }
  const spec = { kind: "slidingWindow", limit, window, resolution } as const;
  return policyFrom(spec, limit, resolution === 1, [limit, window, resolution, room], 3 + 2 * room);
}
