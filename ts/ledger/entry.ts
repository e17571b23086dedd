// A key in a keeper's memory: what it is, what of that is stored, and what is remembered of its holders.
import { Load } from "./load.ts";
import type { Allotment, LedgerReply, LedgerRequest } from "./messages.ts";
import { HOLDER_MS, type HolderState, type LedgerState } from "./state.ts";
import type { KeyChange, StoredKey } from "./store.ts";

/** Calls whose outcomes take as much room as a lease does. */
const CALLS_PER_LEASE = 6;

/** A key in memory. Versions count its changes. */
export interface Entry {
  address: string;
  state: LedgerState | null;
  holders: Map<string, HolderState>;
  /** Holders whose memory isn't stored yet. */
  unsaved: Set<string>;
  version: number;
  /** The version that is stored. */
  stored: number;
  /** The last version that an answer promised without storing it ("lazy"). */
  promised: number;
  /** Tokens that the stored state holds in reserve, and those admitted since it was stored. */
  reserved: number;
  spent: number;
  /** Tokens to hold in reserve at the next commit. */
  reserve: number;
  /** When the budget is whole, epoch ms. */
  wholeAt: number;
  load: Load;
}

/** The entry of a key that was read from the store, with the `state` that is made of what was there. */
export function entryOf(address: string, stored: StoredKey | null, state: LedgerState | null, now: number): Entry {
  return {
    address,
    state,
    holders: new Map(stored?.holders),
    unsaved: new Set(),
    version: state === (stored?.state ?? null) ? 0 : 1,
    stored: 0,
    promised: 0,
    reserved: 0,
    spent: 0,
    reserve: 0,
    wholeAt: now,
    load: new Load(),
  };
}

/** An entry as it was when it was handed to the store. */
export interface Save {
  entry: Entry;
  change: KeyChange;
  version: number;
  spent: number;
  reserve: number;
}

export function saveOf(entry: Entry): Save {
  const { address, version, spent, reserve } = entry;
  const state = entry.state && reserve > 0 ? { ...entry.state, reserved: reserve } : entry.state;
  const holders = [...entry.unsaved].map((id): [string, HolderState] => [id, entry.holders.get(id) as HolderState]);
  const change = { address, state, holders, wholeAt: reserve > 0 ? null : entry.wholeAt };
  return { entry, change, version, spent, reserve };
}

export function markStored({ entry, change, version, spent, reserve }: Save): void {
  entry.stored = version;
  entry.reserved = reserve;
  entry.spent -= spent;
  for (const [id, state] of change.holders) if (entry.holders.get(id) === state) entry.unsaved.delete(id);
}

/** Whether the store doesn't say what memory says. */
export function isAhead(entry: Entry): boolean {
  return entry.version > entry.stored || entry.reserved > 0;
}

export function remember(
  entry: Entry,
  request: LedgerRequest,
  reply: LedgerReply,
  now: number,
  allotment: Allotment | undefined,
): void {
  if (!entry.holders.has(request.holder)) {
    for (const [id, { at }] of entry.holders) if (at < now - HOLDER_MS) entry.holders.delete(id);
  }
  const { holder, seq, ops } = request;
  const replyIsShorter = (entry.state?.leases?.length ?? 0) * CALLS_PER_LEASE > ops.length / 2;
  const before = replyIsShorter ? { before: null, reply } : { before: entry.state };
  const memory: HolderState = { seq, at: now, ...before };
  if (allotment) memory.allotment = allotment;
  entry.holders.set(holder, memory);
}
