// Ledgers in Deno KV, for Deno Deploy: isolates come and go there, several at a time, and share
// no disk. The store is the only thing that they have in common.

import { instantiate } from "../core/instantiate.ts";
import type { ClosableLink } from "../designs/link.ts";
import { badOption } from "../errors.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import { CasKeeper, type CasStore } from "../ledger/cas-keeper.ts";
import { strict } from "../ledger/durability.ts";
import { errorReply } from "../ledger/replies.ts";
import { HOLDER_MS, type HolderState, parseState } from "../ledger/state.ts";

/** The little of the platform that is used here, so that no types of it are needed. */
type Key = readonly string[];
interface Entry {
  key: Key;
  value: unknown;
  versionstamp: string | null;
}
interface Atomic {
  check(...entries: Entry[]): Atomic;
  set(key: Key, value: string, options: { expireIn: number }): Atomic;
  commit(): Promise<{ ok: boolean }>;
}
/** What Deno.openKv() gives. */
export interface Kv {
  getMany(keys: never): Promise<unknown[]>;
  atomic(): unknown;
}

/** Keys in one getMany, of which one is the ledger's own. */
const KEYS_MAX = 10;
/** A KV key holds 2 KiB; a longer address is known by its digest. */
const ADDRESS_MAX = 500;
const PAUSE_MS_MAX = 64;

/**
 * A link to ledgers in Deno KV, which any number of isolates share.
 *
 * Every change is stored before its answer, by compare-and-set, so that isolates never admit
 * the same tokens. Their clocks may differ by s: then a bucket admits at most rate × s above its
 * limit, and a window what it admits within its length + s (see CasKeeper). A key's state must
 * stay below KV's 64 KiB for a value: give a sliding window of a large limit a coarse resolution.
 *
 * @param kv  what Deno.openKv() gave; it stays yours to close
 */
export function denoKv(kv: Kv): ClosableLink {
  if (typeof kv?.atomic !== "function") throw badOption("denoKv's kv", kv, "what Deno.openKv() gives");
  const keeper = new CasKeeper({
    store: kvStore(kv),
    now: () => Date.now(),
    pause: (failed) =>
      new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** failed, PAUSE_MS_MAX))),
    instantiate,
  });
  return {
    ...overLedgers,
    durability: strict(),
    ask: (address, request) => keeper.ask(address, request).catch(errorReply),
    close: async () => keeper.close(),
  };
}

/** What was read: for a key's ledger, and for each holder that was asked for. */
interface Mark {
  id: string;
  entries: Entry[];
}

function kvStore(kv: Kv): CasStore<Mark> {
  return {
    holdersMax: KEYS_MAX - 1,
    async read(address, holders) {
      const id = await idOf(address);
      const keys = [ledgerKey(id), ...holders.map((holder) => holderKey(id, holder))];
      const entries = (await kv.getMany(keys as never)) as Entry[];
      const [ledger, ...rest] = entries.map(({ value }) => value as string | null);
      const known = holders.flatMap((holder, index): [string, HolderState][] => {
        const text = rest[index];
        return text ? [[holder, JSON.parse(text)]] : [];
      });
      return { state: ledger ? parseState(ledger) : null, holders: known, mark: { id, entries } };
    },
    async write({ id, entries }, { state, holders, wholeInMs }) {
      const atomic = (kv.atomic() as Atomic).check(...entries);
      // What says nothing any more is dropped by KV itself, long after it began to say nothing.
      atomic.set(ledgerKey(id), JSON.stringify(state), { expireIn: wholeInMs + HOLDER_MS });
      for (const [holder, memory] of holders) {
        atomic.set(holderKey(id, holder), JSON.stringify(memory), { expireIn: HOLDER_MS });
      }
      return (await atomic.commit()).ok;
    },
  };
}

const ledgerKey = (id: string): Key => ["sluice", "ledger", id];
const holderKey = (id: string, holder: string): Key => ["sluice", "holder", id, holder];

async function idOf(address: string): Promise<string> {
  if (address.length <= ADDRESS_MAX) return `=${address}`;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(address));
  return `#${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
