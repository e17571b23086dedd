// Ledgers in this process, for a single machine: all keys in one SQLite file, or in memory.
// Node, Bun and Deno differ in nothing but where their SQLite comes from.
import { clearInterval, setImmediate, setInterval, setTimeout } from "node:timers";
import { instantiate } from "../core/instantiate.ts";
import { badOption, requireKnown } from "../errors.ts";
import { strict } from "../ledger/durability.ts";
import { Keeper } from "../ledger/keeper.ts";
import { memoryStore } from "../ledger/memory-store.ts";
import type { ClosableLink, Durability } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { sqlStore } from "../ledger/sql-store.ts";
import { openSqlite, type SqliteClass } from "./sqlite-file.ts";

export interface EmbeddedOptions {
  /** The SQLite file, made if there is none. In memory unless given: gone with the process. */
  path?: string;
  /** strict() unless given. */
  durability?: Durability;
}

const SWEEP_MS = 60_000;

/** Makes embedded() for a runtime. @param sqlite  gives the runtime's binding, when it is needed */
export function embeddedOn(sqlite: () => SqliteClass) {
  /**
   * A link to ledgers in this process.
   *
   * What all keys change in one tick is committed together. The file belongs to one process at a
   * time. Close the link when you are done: that stores what reserve() and lazy() have not.
   *
   * @throws {RangeError}    an option is unknown or out of range
   * @throws {LimiterError}  "storage": the file can't be opened, or another process has it;
   *                         "unsupported": there is no SQLite here
   */
  return function embedded(options: EmbeddedOptions = {}): ClosableLink {
    requireKnown("embedded", options, ["path", "durability"]);
    const { path, durability = strict() } = options;
    if (path !== undefined && (typeof path !== "string" || path === "")) throw badOption("path", path, "a file's path");
    const keeper = new Keeper({
      store: path === undefined ? memoryStore() : sqlStore(openSqlite(sqlite(), path)),
      durability,
      now: () => Date.now(),
      soon: setImmediate,
      later: (ms, callback) => void setTimeout(callback, ms),
      instantiate,
    });
    const sweeping = setInterval(() => keeper.sweep().catch(() => {}), SWEEP_MS);
    sweeping.unref();
    return {
      durability,
      ask: (address, request) => keeper.ask(address, request).catch(errorReply),
      close() {
        clearInterval(sweeping);
        return keeper.close();
      },
    };
  };
}
