import type { Policy } from "../contract.ts";
import { requireInteger, requireKnown } from "../errors.ts";
import { type Duration, toMs } from "./duration.ts";
import { policyFrom } from "./policy.ts";

export interface FixedWindowOptions {
  /** Tokens per window, a positive integer. */
  limit: number;
  /** The window's length. */
  window: Duration;
}

/**
 * At most `limit` per window, with windows aligned to the Unix epoch.
 *
 * Exact for every limit and window. Around a boundary two windows' worth can pass in a moment:
 * 2 × limit in any interval of one window's length. Where that is too much, use slidingWindow.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  requireKnown("fixedWindow", options, ["limit", "window"]);
  const limit = requireInteger("limit", options.limit, 1, 2 ** 51);
  const window = toMs("window", options.window);
  return policyFrom({ kind: "fixedWindow", limit, window }, limit, true, [limit, window], 2);
}
