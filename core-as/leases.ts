// The table of a PoP's leases: tokens that a key may spend until its lease ends. Whoever puts them
// here takes them back, spent or not; so an entry is kept until then, whatever the time.
//
//   state  [end, left, low, whole]    times in ms of whoever asks; left may not fall to low
import { keyAt, outAt } from "./call";
import { Cells } from "./cells";
import { clearEntry, stateOf } from "./entry";
import { fingerprintAt } from "./keys";
import { entryFor, find } from "./table";

/** Holds `tokens` for the key at `keyAt`. False if there is no room. */
export function lendKey(form: u32, tokens: f64, end: f64, low: f64, whole: f64): bool {
  const entry = entryFor(fingerprintAt(keyAt, form));
  if (!entry) return false;
  const lease = stateOf(entry);
  lease[0] = end;
  lease[1] = tokens;
  lease[2] = low;
  lease[3] = whole;
  return true;
}

/** Spends `cost` of the key at `keyAt`, and writes `out`; false if that is not for the table to decide. */
export function spendKey(form: u32, now: f64, cost: f64): bool {
  const entry = find(fingerprintAt(keyAt, form));
  if (!entry) return false;
  const lease = stateOf(entry);
  const left = lease[1] - cost;
  if (now >= lease[0] || left <= lease[2]) return false;
  lease[1] = left;
  const out = changetype<Cells>(outAt);
  out[1] = left;
  out[3] = lease[3];
  return true;
}

/** Takes back what is left for the key at `keyAt`; nothing, if there is no entry. */
export function recallKey(form: u32): f64 {
  const entry = find(fingerprintAt(keyAt, form));
  if (!entry) return 0;
  const left = stateOf(entry)[1];
  clearEntry(entry);
  return left;
}
