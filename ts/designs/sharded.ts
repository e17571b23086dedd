import { badOption, requireInteger, requireKnown } from "../errors.ts";
import type { ShardedDesign } from "./design.ts";

export interface ShardedOptions {
  /**
   * Ledgers that a key is spread over, 1 to 256; or "auto": as many as its load asks for, and none
   * but its own ledger while that has little to do.
   */
  shards: number | "auto";
  /**
   * "leased" unless given: shards lease tokens from the key's own ledger, so that skew costs next
   * to nothing; the link must reach middle ledgers. "static": each has a fixed part of the limit.
   */
  split?: "leased" | "static";
  /**
   * "pinned": a limiter keeps to one shard, chosen by hash, so that its calls travel together.
   * "spread": each call goes to the better of two random ones. Unless given, pinned where the
   * split is leased and spread where it is static.
   */
  route?: "pinned" | "spread";
  /** Shards that are asked besides, before a call is refused; 0 unless given, or 2 if the split is static. */
  retries?: number;
  /** With "auto": the load above which a ledger is split, requests a second; 1000 unless given. */
  splitAt?: number;
}

const OPTIONS = ["shards", "split", "route", "retries", "splitAt"];
const SHARDS_MAX = 256;

/**
 * Spreads a key that is too hot for one ledger over several.
 *
 * Safety: none above the limit, also while their number changes (`test/sim/sharded.test.ts`).
 * Loss: leased: what other shards hold, at most half of the budget. Static: a call is refused
 * when its shards are empty, whatever is left in others; it can cost no more than one holds.
 * Cost: one round trip to a shard, shared as in exact().
 *
 * @throws {RangeError} an option is missing, unknown or out of range
 */
export function sharded(options: ShardedOptions): ShardedDesign {
  requireKnown("sharded", options, OPTIONS);
  const { shards, split = "leased", splitAt } = options;
  if (shards !== "auto") requireInteger("shards", shards, 1, SHARDS_MAX);
  if (split !== "leased" && split !== "static") throw badOption("split", split, '"leased" or "static"');
  const { route = split === "leased" ? "pinned" : "spread" } = options;
  if (route !== "pinned" && route !== "spread") throw badOption("route", route, '"pinned" or "spread"');
  if (shards === "auto" && split === "static") {
    throw new RangeError(
      'shards: "auto" needs split: "leased": a static split that changes would give its tokens twice',
    );
  }
  if (splitAt !== undefined && shards !== "auto") throw new RangeError('splitAt goes with shards: "auto"');
  const retries = requireInteger("retries", options.retries ?? (split === "leased" ? 0 : 2), 0, SHARDS_MAX);
  const load = requireInteger("splitAt", splitAt ?? 1000, 1, 1_000_000);
  return { kind: "sharded", shards, split, route, retries, splitAt: load };
}
