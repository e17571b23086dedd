// A group: up to seven pages that share the keys of one prefix of the fingerprint. Its keys are
// spread over its pages by another part of the fingerprint, so that it grows page by page; at
// the eighth page it becomes two groups of four. The table is therefore about as full at one
// size as at another, and no step moves more than 28 KB.
//
// ╒════════════════ Group, 32 bytes ════════════════╕
//   0                                    4          32
// │ pages:3 depth:5 used:11 epoch:13 u32 │ page × 7 │
// └──────────────────────────────────────┴──────────┘
//
//   depth   bits of the prefix
//   used    entries with a fingerprint: live ones, and those that have become free
//   epoch   the epoch of the table that the times of a token bucket's entries count from
import { SLIDING_WINDOW } from "../ts/core/abi";
import { giveBlock } from "./blocks";
import {
  copyEntry,
  entryBytes,
  isFree,
  kind,
  PAGE_BYTES,
  policy,
  search,
  slots,
  stateOf,
  usedOf,
  vacant,
} from "./entry";
import { reserve } from "./memory";
import { EPOCHS, epoch, now, span } from "./time";
import { rebaseBucket } from "./token-bucket";

export const PAGES_MAX: u32 = 7;
const GROUP_BYTES: u32 = 32;

@unmanaged
export class Group {
  meta: u32;

  @inline
  get pages(): u32 {
    return this.meta & 7;
  }

  @inline
  get depth(): u32 {
    return (this.meta >> 3) & 31;
  }

  @inline
  get used(): u32 {
    return (this.meta >> 8) & 0x7ff;
  }

  set(pages: u32, depth: u32, used: u32): void {
    assert(pages <= PAGES_MAX && depth < 32 && used <= pages * slots);
    this.meta = pages | (depth << 3) | (used << 8) | (epoch << 19);
  }

  @inline
  addUsed(count: i32): void {
    this.meta += count << 8;
  }

  @inline
  page(index: u32): usize {
    return load<u32>(changetype<usize>(this) + ((<usize>index) << 2), 4);
  }

  @inline
  setPage(index: u32, page: usize): void {
    store<u32>(changetype<usize>(this) + ((<usize>index) << 2), <u32>page, 4);
  }

  empty(): void {
    for (let index: u32 = 0; index < this.pages; index++) memory.fill(this.page(index), 0, PAGE_BYTES);
    this.set(this.pages, this.depth, 0);
  }

  /** The page that a fingerprint belongs to. */
  @inline
  pageOf(fingerprint: u64): usize {
    return this.page(((<u32>(fingerprint >> 16) & 0xffff) * this.pages) >> 16);
  }

  /** Brings the times of the entries to the table's epoch. To be called before they are looked at. */
  @inline
  refresh(): void {
    if (this.meta >> 19 != epoch) rebase(this);
  }
}

/** Room for the groups to come: they are made in pages of their own, since pages are aligned. */
let nextGroup: usize = 0;
let groupsEnd: usize = 0;

/** A group of one empty page; null if there is no memory left. */
export function newGroup(depth: u32): Group | null {
  if (nextGroup == groupsEnd) {
    nextGroup = reserve(PAGE_BYTES, PAGE_BYTES);
    groupsEnd = nextGroup ? nextGroup + PAGE_BYTES : 0;
    if (!nextGroup) return null;
  }
  const group = changetype<Group>(nextGroup);
  nextGroup += GROUP_BYTES;
  group.set(0, depth, 0);
  return addPage(group) ? group : null;
}

/** Adds an empty page, without moving any key into it; false if the group or the memory has no room for it. */
export function addPage(group: Group): bool {
  const page = group.pages < PAGES_MAX ? reserve(PAGE_BYTES, PAGE_BYTES) : 0;
  if (!page) return false;
  group.setPage(group.pages, page);
  group.meta += 1;
  return true;
}

function rebase(group: Group): void {
  const elapsed = <f64>((epoch - (group.meta >> 19)) & (EPOCHS - 1)) * span;
  for (let index: u32 = 0; index < group.pages; index++) {
    const page = group.page(index);
    for (let nth: u32 = 0; nth < slots; nth++) rebaseBucket(policy, stateOf(page + nth * entryBytes), elapsed);
  }
  group.set(group.pages, group.depth, group.used);
}

/** Moves the live entries of a page to `to`, drops the others, and says where they end. The page is empty then. */
export function gather(page: usize, to: usize): usize {
  const end = page + slots * entryBytes;
  for (let entry = page; entry < end; entry += entryBytes) {
    if (!load<u64>(entry)) continue;
    if (!isFree(entry)) {
      copyEntry(to, entry);
      to += entryBytes;
    } else if (kind == SLIDING_WINDOW) {
      giveBlock(changetype<usize>(stateOf(entry)));
    }
  }
  memory.fill(page, 0, PAGE_BYTES);
  return to;
}

/** Copies an entry that its page does not hold there; false if the page is full. */
export function scatter(page: usize, entry: usize): bool {
  search(page, load<u64>(entry));
  if (!vacant) return false;
  copyEntry(vacant, entry);
  return true;
}

/** What `survey` found: how many entries, the one that is free first, and the fullest: the one that has used least. */
export let surveyed: u32 = 0;
export let soonest: usize = 0;
export let fullest: usize = 0;

/** Looks through the entries of a page, and for the fullest if it is asked for. */
export function survey(page: usize, forFullest: bool): void {
  surveyed = 0;
  let soon: f64 = Infinity;
  let least: f64 = Infinity;
  const end = page + slots * entryBytes;
  for (let entry = page; entry < end; entry += entryBytes) {
    if (!load<u64>(entry)) continue;
    surveyed += 1;
    const at = load<f64>(entry, 8);
    if (at < soon) {
      soon = at;
      soonest = entry;
    }
    const used = forFullest ? usedOf(entry, now) : Infinity;
    if (used < least) {
      least = used;
      fullest = entry;
    }
  }
}
