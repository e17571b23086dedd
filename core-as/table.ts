// The key table: one policy, many keys. Finding the key's entry, refilling and taking are one
// call, which allocates nothing.
import { CLAIM, COMMIT, DENY_NEW, EVICT_FULLEST, REPORT, SLIDING_WINDOW, TOKEN_BUCKET } from "../ts/core/abi";
import { defineBlocks, takeBlock } from "./blocks";
import { Cells } from "./cells";
import { countUsed, groupOf, isCrowded, openDirectory, relieve, sweep, used } from "./directory";
import { clearEntry, defineEntries, kind, policy, search, settleEntry, stateOf, vacant } from "./entry";
import { refund, report, take } from "./policy";
import { defineTime, now, setNow } from "./time";

/** The state of a key that the table does not hold, for calls that leave nothing behind. */
const blank: Cells = changetype<Cells>(memory.data(40));

let capacity: f64 = 0;
let keysMax: u32 = 0;
let whenFull: u32 = 0;

/** New keys that a full table denied, and admitted without remembering them. */
export let deniedNew: u32 = 0;
export let allowedNew: u32 = 0;

/**
 * Opens the instance's one table, for the policy at `policyAt`, whose state takes `cells`
 * numbers. False if there is no memory.
 */
export function openTable(policyKind: u32, cells: u32, most: u32, behaviour: u32): bool {
  defineEntries(policyKind);
  defineTime();
  if (kind == SLIDING_WINDOW) defineBlocks(cells);
  capacity = kind == TOKEN_BUCKET ? policy[2] / policy[1] : policy[0];
  keysMax = most;
  whenFull = behaviour;
  return openDirectory();
}

/** Decides `cost` on the key of that fingerprint at `epochMs`, which is no less than in the call before. */
export function decideEntry(fingerprint: u64, epochMs: f64, cost: f64, mode: u32, out: Cells): bool {
  setNow(epochMs);
  const group = groupOf(fingerprint);
  group.refresh();
  const commit = (mode & COMMIT) != 0;
  const claims = commit || (mode & CLAIM && whenFull == DENY_NEW);
  let entry = search(group.pageOf(fingerprint), fingerprint);
  if (!entry && claims && cost <= capacity) {
    entry = claim(fingerprint);
    if (!entry) return decideUnheld(cost, mode, out);
  }
  const state = entry ? stateOf(entry) : blank;
  const admitted = take(kind, policy, state, now, cost, commit);
  if (entry) settleEntry(entry);
  if (mode & REPORT) report(kind, policy, state, out, now, cost, admitted);
  return admitted;
}

/** Gives `count` tokens back to a key. */
export function refundEntry(fingerprint: u64, epochMs: f64, count: f64): void {
  setNow(epochMs);
  const entry = find(fingerprint);
  if (!entry) return;
  refund(kind, policy, stateOf(entry), now, count);
  settleEntry(entry);
}

/** The entry of a key, or one that it gets now; 0 if the table is full. */
export function entryFor(fingerprint: u64): usize {
  const entry = find(fingerprint);
  return entry ? entry : claim(fingerprint);
}

/** The entry of a key; 0 if there is none. */
export function find(fingerprint: u64): usize {
  const group = groupOf(fingerprint);
  group.refresh();
  return search(group.pageOf(fingerprint), fingerprint);
}

/** An entry for a key that has just been searched for in vain; 0 if the table is full. */
function claim(fingerprint: u64): usize {
  if (!vacant || !load<u64>(vacant)) {
    if (!makeWay(fingerprint)) return 0;
    const block = kind == SLIDING_WINDOW ? takeBlock() : 0;
    if (kind == SLIDING_WINDOW) {
      if (!block) return outOfMemory();
      store<u32>(vacant, <u32>block, 16);
    }
    countUsed(groupOf(fingerprint));
  }
  store<u64>(vacant, fingerprint);
  clearEntry(vacant);
  return vacant;
}

/** Sees to it that `vacant` may be taken, though it adds to the entries in use. */
function makeWay(fingerprint: u64): bool {
  if (used >= keysMax) {
    untilRoom = sweep(whenFull == EVICT_FULLEST);
    if (untilRoom > 0) return false;
    find(fingerprint);
  }
  while (!vacant || isCrowded(groupOf(fingerprint))) {
    const relieved = relieve(fingerprint, !vacant);
    find(fingerprint);
    if (relieved) continue;
    outOfMemory();
    return vacant != 0;
  }
  return true;
}

/** Ms until a full table may have room. */
let untilRoom: f64 = 1;

/** From now on the table is full at what it holds. */
function outOfMemory(): usize {
  keysMax = used;
  untilRoom = 1;
  return 0;
}

/** The decision on a new key for which there is no room. */
function decideUnheld(cost: f64, mode: u32, out: Cells): bool {
  const admitted = whenFull != DENY_NEW;
  if (admitted) allowedNew += 1;
  else deniedNew += 1;
  if (!(mode & REPORT)) return admitted;
  if (admitted) {
    // As if it were remembered.
    take(kind, policy, blank, now, cost, true);
    report(kind, policy, blank, out, now, cost, true);
    memory.fill(changetype<usize>(blank), 0, 40);
  } else {
    out[0] = 0;
    out[1] = 0;
    out[2] = untilRoom;
    out[3] = untilRoom;
  }
  return admitted;
}
