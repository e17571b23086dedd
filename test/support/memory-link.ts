import { instantiate } from "../../ts/core/instantiate.ts";
import type { Link } from "../../ts/designs/link.ts";
import { overLedgers } from "../../ts/holders/over-ledgers.ts";
import { strict } from "../../ts/ledger/durability.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";

/** Ledgers in memory, by the platform's own clock, where nothing of a server's runtime may be imported. */
export function memoryLink(): Link {
  const durability = strict();
  const keeper = new Keeper({
    store: memoryStore(),
    durability,
    now: () => Date.now(),
    soon: (callback) => void setTimeout(callback, 0),
    later: (ms, callback) => void setTimeout(callback, ms),
    instantiate,
  });
  return { ...overLedgers, durability, ask: (address, request) => keeper.ask(address, request) };
}
