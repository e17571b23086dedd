// Many keys in one call. The searches of one key after the other would each wait for memory;
// here all fingerprints are made first, then all the cache lines are asked for, and only then
// is it decided, in order.
import { Cells } from "./cells";
import { groupOf } from "./directory";
import { home } from "./entry";
import { fingerprintAt, keyAt } from "./keys";
import { reserve } from "./memory";
import { decideEntry } from "./table";

export const BATCH_MAX: u32 = 64;

// ╒═══════════════════ Batch, for each of BATCH_MAX keys ═══════════════════╕
// │ out f64 × 4 … │ cost f64 … │ fingerprint u64 … │ form u32 … │ admitted u8 … │
export const BATCH_COSTS: u32 = BATCH_MAX * 32;
export const BATCH_FINGERPRINTS: u32 = BATCH_COSTS + BATCH_MAX * 8;
export const BATCH_FORMS: u32 = BATCH_FINGERPRINTS + BATCH_MAX * 8;
export const BATCH_ADMITTED: u32 = BATCH_FORMS + BATCH_MAX * 4;

/** Where the batch is. */
export let batchAt: usize = 0;

/** Makes room for a batch; false if there is no memory. */
export function openBatch(): bool {
  batchAt = reserve(BATCH_ADMITTED + BATCH_MAX, 64);
  return batchAt != 0;
}

/** Exported, so that the loads that it sums are not optimized away. */
export let touched: u64 = 0;

/**
 * Decides on `count` keys in order. They are at `keyAt`, the first at its beginning, each next
 * (length + 9) & ~7 behind the one before: there is its tag, and a word that its hash needs.
 */
export function decideBatch(count: u32, now: f64, mode: u32): void {
  const fingerprints = batchAt + BATCH_FINGERPRINTS;
  let at = keyAt;
  for (let index: u32 = 0; index < count; index++) {
    const form = load<u32>(batchAt + BATCH_FORMS + ((<usize>index) << 2));
    store<u64>(fingerprints + ((<usize>index) << 3), fingerprintAt(at, form));
    at += ((form >> 2) + 9) & ~7;
  }
  let sum: u64 = 0;
  for (let index: u32 = 0; index < count; index++) {
    const fingerprint = load<u64>(fingerprints + ((<usize>index) << 3));
    sum += load<u64>(home(groupOf(fingerprint).pageOf(fingerprint), fingerprint));
  }
  touched = sum;
  for (let index: u32 = 0; index < count; index++) {
    const nth = <usize>index;
    const cost = load<f64>(batchAt + BATCH_COSTS + (nth << 3));
    const out = changetype<Cells>(batchAt + (nth << 5));
    const admitted = decideEntry(load<u64>(fingerprints + (nth << 3)), now, cost, mode, out);
    store<u8>(batchAt + BATCH_ADMITTED + nth, <u8>admitted);
  }
}
