// The forms that a key comes in, and the calls on one key. What is hashed is the key's bytes
// and then a tag that tells the forms apart, so that no two keys of different forms are one.

import { KEY_BYTES_MAX, REPORT } from "../ts/core/abi";
import { keyAt, outAt } from "./call";
import { Cells } from "./cells";
import { absorb, seedHash, siphash } from "./siphash";
import { decideEntry, refundEntry } from "./table";

/** Takes the 16 bytes at `keyAt` as the seed of the keys' hash. */
export function seedKeys(): void {
  seedHash(keyAt);
}

/**
 * The fingerprint of the key at `at`, never zero. Its form is its length in bytes × 4 + its tag;
 * what is behind it up to a multiple of 8, and at least one byte, is overwritten.
 */
export function fingerprintAt(at: usize, form: u32): u64 {
  const bytes = form >> 2;
  store<u8>(at + bytes, form & 3);
  const hash = siphash(at, bytes + 1);
  return hash ? hash : 1;
}

/**
 * Which of `shards` the key at `keyAt` belongs to: by jump consistent hashing, so that adding a
 * shard moves only the keys that the new one gets. The same everywhere, for one seed.
 *
 * Source: Lamping and Veach, "A fast, minimal memory, consistent hash algorithm" (2014).
 */
export function shardOfKey(form: u32, shards: u32): u32 {
  let state = fingerprintAt(keyAt, form);
  let shard: i64 = 0;
  let next: i64 = 0;
  while (next < <i64>shards) {
    shard = next;
    state = state * 2862933555777941757 + 1;
    next = <i64>(<f64>(shard + 1) * (2147483648 / <f64>((state >> 33) + 1)));
  }
  return <u32>shard;
}

/** Takes the first KEY_BYTES_MAX bytes of a longer key. */
export function absorbKey(): void {
  absorb(keyAt, KEY_BYTES_MAX);
}

/** Decides on the key at `keyAt`, or on what is left of a longer one; mode: see ts/core/abi.ts. */
export function decideKey(form: u32, now: f64, cost: f64, mode: u32): bool {
  return decideEntry(fingerprintAt(keyAt, form), now, cost, mode, changetype<Cells>(outAt));
}

/**
 * Gives `count` tokens back to the key at `keyAt`, or all if it is Infinity, and decides on a cost
 * of 1 without taking it.
 */
export function refundKey(form: u32, now: f64, count: f64): bool {
  const fingerprint = fingerprintAt(keyAt, form);
  refundEntry(fingerprint, now, count);
  return decideEntry(fingerprint, now, 1, REPORT, changetype<Cells>(outAt));
}
