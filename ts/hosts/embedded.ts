// Ledgers in this process, for a single machine: all keys in one SQLite file, or in memory.
// Node, Bun and Deno differ in nothing but where their SQLite comes from.

import { clearInterval, setImmediate, setInterval } from "node:timers";
import { instantiate } from "../core/instantiate.ts";
import type { ClosableLink } from "../designs/link.ts";
import { badOption, requireInteger, requireKnown } from "../errors.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import { memoryChildren, sqlChildren } from "../ledger/children.ts";
import { strict } from "../ledger/durability.ts";
import { Keeper } from "../ledger/keeper.ts";
import { memoryStore } from "../ledger/memory-store.ts";
import type { Durability } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { sqlStore } from "../ledger/sql-store.ts";
import { HOLDER_MS } from "../ledger/state.ts";
import { CHILDREN_MAX, Supervisor } from "../ledger/supervisor.ts";
import { childAddress } from "../link/address.ts";
import { plansOf } from "../link/terms.ts";
import { ambient } from "./ambient.ts";
import { openSqlite, type SqliteClass } from "./sqlite-file.ts";

export interface EmbeddedOptions {
  /** The SQLite file, made if there is none. In memory unless given: gone with the process. */
  path?: string;
  /** strict() unless given. */
  durability?: Durability;
  /** Endpoints that a tenant of a limiter with a plan may have at a time; 1,000 unless given. */
  childrenMax?: number;
}

const SWEEP_MS = 60_000;

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
export type Embedded = (options?: EmbeddedOptions) => ClosableLink;

/** Makes embedded() for a runtime. @param sqlite  gives the runtime's binding, when it is needed */
export function embeddedOn(sqlite: () => SqliteClass): Embedded {
  return function embedded(options = {}) {
    requireKnown("embedded", options, ["path", "durability", "childrenMax"]);
    const { path, durability = strict(), childrenMax } = options;
    if (path !== undefined && (typeof path !== "string" || path === "")) throw badOption("path", path, "a file's path");
    if (childrenMax !== undefined) requireInteger("childrenMax", childrenMax, 1, CHILDREN_MAX);
    const db = path === undefined ? null : openSqlite(sqlite(), path);
    const keeper = new Keeper({
      store: db ? sqlStore(db) : memoryStore(),
      durability,
      now: () => Date.now(),
      soon: setImmediate,
      later: ambient.schedule,
      instantiate,
    });
    const children = db ? sqlChildren(db, () => Date.now()) : memoryChildren(() => Date.now());
    // Children are ledgers like others here, beside their plans' in the same file.
    const supervisor = new Supervisor({
      keeper,
      children,
      askChild: (plan, child, requests, allotment, now) =>
        keeper.askChild(childAddress(plan, child), requests, allotment, now),
      now: () => Date.now(),
      later: ambient.schedule,
    });
    const sweep = async () => {
      await keeper.sweep();
      children.sweep(Date.now() - HOLDER_MS);
    };
    const sweeping = setInterval(() => sweep().catch(() => {}), SWEEP_MS);
    sweeping.unref();
    return {
      ...overLedgers,
      durability,
      plans: plansOf(childrenMax),
      ask: (address, request) =>
        request.plan ? supervisor.ask(request) : keeper.ask(address, request).catch(errorReply),
      close() {
        clearInterval(sweeping);
        return keeper.close();
      },
    };
  };
}
