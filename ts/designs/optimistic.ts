import { badOption, requireInteger, requireKnown } from "../errors.ts";
import { TTL_MS_MAX } from "../ledger/leases.ts";
import { TTL_MS_MIN } from "../link/lease-hold.ts";
import { Shares } from "../link/share.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import { type Design, remoteOf } from "./design.ts";
import { LeaseHolder } from "./lease-holder.ts";
import { blockOf, rateOf, requireBlock } from "./terms.ts";

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
export function optimistic(options: OptimisticOptions = {}): Design {
  requireKnown("optimistic", options, ["every", "blind", "overdraft", "maxUnsynced", "block"]);
  const everyMs = requireInteger("every", toMs("every", options.every ?? "1s"), 1, TTL_MS_MAX);
  const blind = toMs("blind", options.blind ?? Math.min(Math.max(5 * everyMs, TTL_MS_MIN), TTL_MS_MAX));
  const blindMs = requireInteger("blind", blind, TTL_MS_MIN, TTL_MS_MAX);
  if (everyMs > blindMs) throw badOption("every", everyMs, `at most blind, ${blindMs} ms`);
  const { overdraft = 1, maxUnsynced } = options;
  if (!(overdraft >= 0 && overdraft <= 1)) throw badOption("overdraft", overdraft, "a number from 0 to 1");
  const unsynced = maxUnsynced === undefined ? Number.POSITIVE_INFINITY : maxUnsynced;
  if (maxUnsynced !== undefined) requireInteger("maxUnsynced", maxUnsynced, 1, Number.MAX_SAFE_INTEGER);
  const tokens = blockOf(options.block);
  return {
    kind: "optimistic",
    needsLink: true,
    needsPops: "always",
    hold(context) {
      const { policies, instantiate } = context;
      const remote = remoteOf(context, "optimistic");
      const { pops } = remote;
      const rate = Math.min(...policies.map(rateOf));
      const alone = {
        pops,
        blindMs,
        overdraftPerMs: overdraft * rate * (1 - 1 / pops),
        shares: remote.onUnreachable === "share" ? new Shares(policies, pops, instantiate) : undefined,
      };
      const block = requireBlock(tokens, policies);
      return new LeaseHolder(context, remote, {
        ttlMs: blindMs,
        block,
        alone,
        eager: { everyMs, maxUnsynced: unsynced },
      });
    },
  };
}
