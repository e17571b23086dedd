import { badOption, requireInteger, requireKnown } from "../errors.ts";
import { TTL_MS_MAX } from "../ledger/leases.ts";
import { TTL_MS_MIN } from "../link/lease-hold.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import { type LinkedDesign, made, type OptimisticDesign } from "./design.ts";
import { blockOf } from "./terms.ts";

export interface OptimisticOptions {
  /** τ: how often a PoP tells a key's ledger what it admitted; "1s" unless given. */
  every?: Duration;
  /**
   * τ_f: how long an overdraft goes on growing while nothing is heard from the ledger, 500 ms to
   * 5 min. After that the PoP takes from its share, if onUnreachable says so. Five times `every`,
   * unless given.
   */
  blind?: Duration;
  /**
   * ω, 0 to 1: which part of the other PoPs' rate a PoP may admit beyond what it holds. 0: none,
   * as with lease(). 1 unless given.
   */
  overdraft?: number;
  /** Tells the ledger sooner if so many tokens were admitted, a positive integer; no limit unless given. */
  maxUnsynced?: number;
  /** As with lease(). */
  block?: number | "adaptive";
}

/**
 * Decides every call at once, from what the PoP has, and beyond that up to a bound.
 *
 * Safety: over all time no more than ω (P − 1) r τ_f above the limit, whatever is cut off and for
 * however long (`test/sim/optimistic.test.ts`). The debt is paid before anyone gets anything.
 * Loss: tokens that others hold can't be had, as with lease().
 * Cost: a round trip per key and `every`, none that a call waits for, but for a PoP's first one.
 *
 * @throws {RangeError} an option is unknown or out of range
 */
export function optimistic(options: OptimisticOptions = {}): LinkedDesign {
  requireKnown("optimistic", options, ["every", "blind", "overdraft", "maxUnsynced", "block"]);
  const everyMs = toMs("every", options.every ?? "1s", 1, TTL_MS_MAX);
  const fiveTimes = Math.min(Math.max(5 * everyMs, TTL_MS_MIN), TTL_MS_MAX);
  const blindMs = toMs("blind", options.blind ?? fiveTimes, TTL_MS_MIN, TTL_MS_MAX);
  if (everyMs > blindMs) throw badOption("every", everyMs, `at most blind, ${blindMs} ms`);
  const { overdraft = 1, maxUnsynced = Number.POSITIVE_INFINITY } = options;
  if (!(overdraft >= 0 && overdraft <= 1)) throw badOption("overdraft", overdraft, "a number from 0 to 1");
  if (options.maxUnsynced !== undefined) requireInteger("maxUnsynced", maxUnsynced);
  return made<OptimisticDesign>({
    kind: "optimistic",
    everyMs,
    blindMs,
    overdraft,
    maxUnsynced,
    block: blockOf(options.block),
  });
}
