import { requireInteger, requireKnown, requireOneOf } from "../errors.ts";
import { type LinkedDesign, made, type ShardedDesign } from "./design.ts";

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
export function sharded(options: ShardedOptions): LinkedDesign {
  requireKnown("sharded", options, OPTIONS);
  const { shards, split = "leased", splitAt = 1000 } = options;
  const isAuto = shards === "auto";
  if (!isAuto) requireInteger("shards", shards, 1, SHARDS_MAX);
  requireOneOf("split", split, ["leased", "static"]);
  const isLeased = split === "leased";
  const { route = isLeased ? "pinned" : "spread", retries = isLeased ? 0 : 2 } = options;
  requireOneOf("route", route, ["pinned", "spread"]);
  requireInteger("retries", retries, 0, SHARDS_MAX);
  requireInteger("splitAt", splitAt, 1, 1_000_000);
  // Static parts that change would give their tokens twice.
  if (isAuto && !isLeased) throw new RangeError('shards: "auto" needs split: "leased"');
  if (!isAuto && options.splitAt !== undefined) throw new RangeError('splitAt goes with shards: "auto"');
  return made<ShardedDesign>({ kind: "sharded", shards, split, route, retries, splitAt });
}
