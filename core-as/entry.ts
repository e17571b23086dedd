// An entry of the table, and how a page of them is searched.
//
// ╒═══════ Entry, 16, 24 or 40 bytes, little-endian ═══════╕
//   0                 8                 16               24
// │ fingerprint u64 │ TAT, ticks  f64 │                  │   token bucket: its state
// │ fingerprint u64 │ start, ms   f64 │ used         f64 │   fixed window: its state
// │ fingerprint u64 │ end, ms     f64 │ block u32 │      │   sliding window: its state is in a block
// │ fingerprint u64 │ end, ms     f64 │ left         f64 │   lease: its state (leases.ts), to 40
// └─────────────────┴─────────────────┴──────────────────┘
//
// The fingerprint is the key's hash; zero: never used. The number behind it tells whether the
// entry still says anything: once it is `whole` or less, the key's budget is whole, and so the
// entry is as good as free. Hence no timers and no tombstones.

import { FIXED_WINDOW, LEASE, SLIDING_WINDOW, TOKEN_BUCKET } from "../ts/core/abi";
import { policyAt } from "./call";
import { Cells } from "./cells";
import { take } from "./policy";
import { slidingEnd } from "./sliding-window";

export const PAGE_BYTES: u32 = 4096;

export let kind: u32 = 0;
/** Size of an entry, and how many fit in a page. */
export let entryBytes: u32 = 0;
export let slots: u32 = 0;
let buckets: u32 = 0;
let bucketBytes: u32 = 0;
/** The policy's constants. */
export const policy: Cells = changetype<Cells>(policyAt);

// An entry is free once the number behind its fingerprint is `whole` or less.
let whole: f64 = 0;
let ticksPerMs: f64 = 1;
let lagMs: f64 = 0;

export function defineEntries(policyKind: u32): void {
  kind = policyKind;
  entryBytes = kind == TOKEN_BUCKET ? 16 : kind == LEASE ? 40 : 24;
  bucketBytes = 4 * entryBytes;
  buckets = PAGE_BYTES / bucketBytes;
  slots = 4 * buckets;
  if (kind == TOKEN_BUCKET) ticksPerMs = policy[0];
  if (kind == FIXED_WINDOW) lagMs = policy[1];
  // Time frees no lease: what is left must be taken back.
  if (kind == LEASE) whole = -Infinity;
}

/** Takes the time at which to tell what is free. */
export function wholeAt(now: f64): void {
  whole = now * ticksPerMs - lagMs;
}

export function isFree(entry: usize): bool {
  return load<f64>(entry, 8) <= whole;
}

/** Ms until the entry is free. */
export function untilFree(entry: usize): f64 {
  return Math.ceil((load<f64>(entry, 8) - whole) / ticksPerMs);
}

/** How much of its budget an entry that isn't free has used by `now`, in whatever unit. */
export function usedOf(entry: usize, now: f64): f64 {
  if (kind == TOKEN_BUCKET) return load<f64>(entry, 8);
  if (kind == FIXED_WINDOW) return load<f64>(entry, 16);
  // A cost of nothing: what has ended is dropped.
  take(kind, policy, stateOf(entry), now, 0, false);
  return stateOf(entry)[0];
}

/** Where the policy's state of an entry is. */
export function stateOf(entry: usize): Cells {
  return changetype<Cells>(kind == SLIDING_WINDOW ? <usize>load<u32>(entry, 16) : entry + 8);
}

/** To be called when the state of an entry has changed. */
export function settleEntry(entry: usize): void {
  if (kind == SLIDING_WINDOW) store<f64>(entry, slidingEnd(policy, stateOf(entry)), 8);
}

/** Makes an entry's budget whole: it is free. */
export function clearEntry(entry: usize): void {
  const state = stateOf(entry);
  // What fills a window's state is worth nothing without these.
  if (kind != TOKEN_BUCKET) state[1] = 0;
  if (kind == SLIDING_WINDOW) {
    state[0] = 0;
    state[2] = 0;
  }
  store<f64>(entry, -Infinity, 8);
}

/** Copies an entry; by words, as V8 calls a library for a copy of a length that it does not know. */
export function copyEntry(to: usize, from: usize): void {
  store<u64>(to, load<u64>(from));
  store<u64>(to, load<u64>(from, 8), 8);
  if (kind != TOKEN_BUCKET) store<u64>(to, load<u64>(from, 16), 16);
  if (kind == LEASE) memory.copy(to + 24, from + 24, 16);
}

/** Where in a page a fingerprint's search begins: at one of its buckets of four entries. */
export function home(page: usize, fingerprint: u64): usize {
  return page + (((<u32>fingerprint & 0xffff) * buckets) >> 16) * bucketBytes;
}

/** After a search that found nothing: the first entry on its way that a new key may take; 0: none. */
export let vacant: usize = 0;

/**
 * The entry of `fingerprint` in `page`; 0 if there is none.
 *
 * A bucket is looked at as a whole and without branches, as in most cases the first one decides:
 * its entries are mostly in one cache line, and where in it the key is cannot be predicted.
 */
export function search(page: usize, fingerprint: u64): usize {
  const last = page + (buckets - 1) * bucketBytes;
  let candidate: usize = 0;
  let bucket = home(page, fingerprint);
  for (let left = buckets; left; left--) {
    const second = bucket + entryBytes;
    const third = second + entryBytes;
    const fourth = third + entryBytes;
    let entry: usize = load<u64>(bucket) == fingerprint ? bucket : 0;
    entry = load<u64>(second) == fingerprint ? second : entry;
    entry = load<u64>(third) == fingerprint ? third : entry;
    entry = load<u64>(fourth) == fingerprint ? fourth : entry;
    if (entry) return entry;
    if (!candidate) candidate = vacancy(bucket);
    // They fill in order: behind an entry that was never used there is nothing.
    if (!load<u64>(fourth)) break;
    bucket = bucket < last ? bucket + bucketBytes : page;
  }
  vacant = candidate;
  return 0;
}

/** The first entry of a bucket that a new key may take; 0: none. */
function vacancy(bucket: usize): usize {
  for (let entry = bucket; entry < bucket + bucketBytes; entry += entryBytes) {
    if (!load<u64>(entry) || isFree(entry)) return entry;
  }
  return 0;
}
