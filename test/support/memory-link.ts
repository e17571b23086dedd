import { instantiate } from "../../ts/core/instantiate.ts";
import { strict } from "../../ts/ledger/durability.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";
import type { Link } from "../../ts/ledger/messages.ts";

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
  return { durability, ask: (address, request) => keeper.ask(address, request) };
}
