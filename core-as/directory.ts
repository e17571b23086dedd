// Which group holds a fingerprint: extendible hashing. The directory has an entry per prefix of
// `depth` bits; a group with a shorter prefix is in several, next to each other.
import { SLIDING_WINDOW } from "../ts/core/abi";
import { giveBlock } from "./blocks";
import { clearEntry, copyEntry, entryBytes, isFree, kind, PAGE_BYTES, slots, stateOf, untilFree } from "./entry";
import { addPage, fullest, Group, gather, newGroup, PAGES_MAX, scatter, soonest, survey, surveyed } from "./group";
import { reserve } from "./memory";

/** 2^24 groups are more than 4 GiB hold. */
const DEPTH_MAX: u32 = 24;

let directory: usize = 0;
let depth: u32 = 0;
/** Where the sweep is: an index into the directory, and a page of that group. */
let hand: u32 = 0;
let handPage: u32 = 0;
/** Room for the entries of a group while they move. */
let spare: usize = 0;

/** Entries with a fingerprint in all groups. */
export let used: u32 = 0;
/** Live keys that a full table, or a page that overflowed, had to forget. */
export let evicted: u32 = 0;

export function openDirectory(): bool {
  spare = reserve(PAGES_MAX * PAGE_BYTES, 16);
  directory = reserve(4, 4);
  const first = newGroup(0);
  if (!spare || !directory || !first) return false;
  setGroup(0, first);
  return true;
}

function groupAt(index: u32): Group {
  return changetype<Group>(<usize>load<u32>(directory + ((<usize>index) << 2)));
}

function indexOf(fingerprint: u64): u32 {
  return <u32>((fingerprint >> 1) >> (63 - depth));
}

export function groupOf(fingerprint: u64): Group {
  return groupAt(indexOf(fingerprint));
}

/** Counts an entry that has got its first key. */
export function countUsed(group: Group): void {
  group.addUsed(1);
  used += 1;
}

/** Whether a group should be relieved before it takes another entry. */
export function isCrowded(group: Group): bool {
  return group.used >= crowd(group.pages);
}

/** Entries that crowd so many pages: 3/4 of theirs. Beyond that, searches take more than one bucket. */
function crowd(pages: u32): u32 {
  return (pages * slots * 3) >> 2;
}

/**
 * Drops a group's free entries, and gives it another page if that frees less than a quarter or
 * if `full`, one of its pages is full of live ones. False if there is no memory for the page.
 */
export function relieve(fingerprint: u64, full: bool): bool {
  const group = groupOf(fingerprint);
  used -= group.used;
  let end = spare;
  for (let index: u32 = 0; index < group.pages; index++) end = gather(group.page(index), end);
  let sibling: Group | null = null;
  let enough = true;
  if (full || (<u32>(end - spare) / entryBytes) * 4 > crowd(group.pages) * 3) {
    if (group.pages == PAGES_MAX) sibling = split(group, fingerprint);
    enough = sibling != null || addPage(group);
  }
  // The keys of a group do not fill its pages evenly. That one overflows here is all but
  // impossible, and then another page helps; or a key is forgotten, if there is none to be had.
  for (let stuck = scatterAll(group, sibling, end); stuck; stuck = scatterAll(group, sibling, end)) {
    if (addPage(groupOf(load<u64>(stuck)))) continue;
    if (kind == SLIDING_WINDOW) giveBlock(changetype<usize>(stateOf(stuck)));
    end -= entryBytes;
    copyEntry(stuck, end);
    evicted += 1;
  }
  used += <u32>(end - spare) / entryBytes;
  return enough;
}

/** Fills the pages of the two with the entries up to `end`. The entry that finds no room; 0: all do. */
function scatterAll(group: Group, sibling: Group | null, end: usize): usize {
  group.empty();
  if (sibling) sibling.empty();
  for (let entry = spare; entry < end; entry += entryBytes) {
    const fingerprint = load<u64>(entry);
    const target = groupOf(fingerprint);
    if (!scatter(target.pageOf(fingerprint), entry)) return entry;
    target.addUsed(1);
  }
  return 0;
}

/** Hands a group's last pages and half of its prefixes to a new one; null if there is no memory. */
function split(group: Group, fingerprint: u64): Group | null {
  const bits = group.depth;
  if (bits == depth && !doubleDirectory()) return null;
  const sibling = newGroup(bits + 1);
  if (!sibling) return null;
  const kept = (PAGES_MAX + 1) >> 1;
  for (let index = kept; index < PAGES_MAX; index++) sibling.setPage(index - kept + 1, group.page(index));
  sibling.set(kept, bits + 1, 0);
  group.set(kept, bits + 1, 0);
  const half: u32 = 1 << (depth - bits - 1);
  const middle = (indexOf(fingerprint) & ~(2 * half - 1)) + half;
  for (let index = middle; index < middle + half; index++) setGroup(index, sibling);
  return sibling;
}

function setGroup(index: u32, group: Group): void {
  store<u32>(directory + ((<usize>index) << 2), <u32>changetype<usize>(group));
}

function doubleDirectory(): bool {
  const before = (<u32>1) << depth;
  const doubled = depth < DEPTH_MAX ? reserve(8 * before, 4) : 0;
  if (!doubled) return false;
  for (let index: u32 = 0; index < before; index++) {
    const group = load<u32>(directory + ((<usize>index) << 2));
    store<u32>(doubled + ((<usize>index) << 3), group);
    store<u32>(doubled + ((<usize>index) << 3), group, 4);
  }
  directory = doubled;
  depth += 1;
  hand <<= 1;
  return true;
}

/**
 * Looks at the next page of an endless round for entries that have become free, and drops them;
 * or if there is none and `evict` is set, the one that has most of its budget left. Returns 0 if
 * that made room, else the ms until one of those in the page becomes free.
 */
export function sweep(evict: bool): f64 {
  let group = nextPage();
  let page = group.page(handPage);
  survey(page, evict);
  // A page without entries is of no use, unless there are none anywhere: memory ended before the first.
  while (evict && used && !surveyed) {
    group = nextPage();
    page = group.page(handPage);
    survey(page, evict);
  }
  if (!surveyed) return 1;
  if (!isFree(soonest)) {
    if (!evict) return untilFree(soonest);
    clearEntry(fullest);
    evicted += 1;
  }
  const end = gather(page, spare);
  for (let entry = spare; entry < end; entry += entryBytes) scatter(page, entry);
  const dropped = surveyed - <u32>(end - spare) / entryBytes;
  group.addUsed(-(<i32>dropped));
  used -= dropped;
  return 0;
}

/** Moves the hand on by a page, and makes its group fit to be looked at. */
function nextPage(): Group {
  let group = groupAt(hand);
  handPage += 1;
  if (handPage >= group.pages) {
    hand = (hand + (1 << (depth - group.depth))) & ((1 << depth) - 1);
    handPage = 0;
    group = groupAt(hand);
  }
  group.refresh();
  return group;
}
