// Many keys in one call. The searches of one key after the other would each wait for memory;
// here all fingerprints are made first, then all the cache lines are asked for, and only then
// is it decided, in order.
import { ADMITTED, COSTS, FINGERPRINTS, FORMS } from "../ts/core/abi";
import { callAt, keyAt } from "./call";
import { Cells } from "./cells";
import { groupOf } from "./directory";
import { home } from "./entry";
import { fingerprintAt } from "./keys";
import { decideEntry } from "./table";

/**
 * Decides on `count` keys in order. They are at `keyAt`, the first at its beginning, each next
 * (length + 9) & ~7 behind the one before: there is its tag, and a word that its hash needs.
 * What it returns is of no use but to keep the loads that it sums from being optimized away.
 */
export function decideBatch(count: u32, now: f64, mode: u32): u32 {
  const fingerprints = callAt + FINGERPRINTS;
  let at = keyAt;
  for (let index: u32 = 0; index < count; index++) {
    const form = <u32>load<f64>(callAt + FORMS + ((<usize>index) << 3));
    store<u64>(fingerprints + ((<usize>index) << 3), fingerprintAt(at, form));
    at += ((form >> 2) + 9) & ~7;
  }
  let sum: u64 = 0;
  for (let index: u32 = 0; index < count; index++) {
    const fingerprint = load<u64>(fingerprints + ((<usize>index) << 3));
    sum += load<u64>(home(groupOf(fingerprint).pageOf(fingerprint), fingerprint));
  }
  for (let index: u32 = 0; index < count; index++) {
    const nth = <usize>index;
    const cost = load<f64>(callAt + COSTS + (nth << 3));
    const out = changetype<Cells>(callAt + (nth << 5));
    const admitted = decideEntry(load<u64>(fingerprints + (nth << 3)), now, cost, mode, out);
    store<u8>(callAt + ADMITTED + nth, <u8>admitted);
  }
  return <u32>sum;
}
