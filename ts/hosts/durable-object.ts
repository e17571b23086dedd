// One ledger per Durable Object: a single writer with its own SQLite, addressed by key.

import * as workers from "cloudflare:workers";
import { instantiate } from "../core/instantiate.ts";
import type { Link, PlacedLink } from "../designs/link.ts";
import { badOption, requireKnown } from "../errors.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import { strict } from "../ledger/durability.ts";
import { Keeper } from "../ledger/keeper.ts";
import type { Durability, LedgerReply, LedgerRequest, Ledgers } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { HOLDER_MS } from "../ledger/state.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { Middle } from "../middle/middle.ts";
import { ambient } from "./ambient.ts";
import {
  alarmAt,
  carried,
  type LedgerNamespace,
  type ObjectState,
  outlive,
  storedIn,
  stubOf,
} from "./durable-object-store.ts";

export type { LedgerNamespace } from "./durable-object-store.ts";
export { TenantObject, type TenantsOptions, tenants } from "./durable-object-tenant.ts";

interface LedgerStub {
  ask(address: string, request: LedgerRequest): Promise<LedgerReply>;
}
/**
 * The ledger of one key. Export it from your Worker, bind it, and list it among the
 * `new_sqlite_classes` of your migrations.
 *
 * What a request changes is committed before its answer leaves, unless the link asks for
 * another durability. When the key's budget has long been whole, the object deletes what it
 * stored.
 */
export class LedgerObject extends workers.DurableObject {
  readonly #state: ObjectState;
  #keeper: Keeper | null = null;
  #alarmSet = false;

  constructor(ctx: ObjectState, env: unknown) {
    super(ctx as never, env as never);
    this.#state = ctx;
  }

  /** Decides the ops of one holder, in order, and commits once. For links, not for you. */
  async ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    this.#keeper ??= new Keeper({
      store: this.#store(),
      durability: strict(),
      now: () => Date.now(),
      soon: (callback) => queueMicrotask(callback),
      later: ambient.schedule,
      instantiate,
    });
    return this.#keeper.ask(address, request).catch(errorReply);
  }

  /** Cleans up behind a key that nobody uses any more. */
  async alarm(): Promise<void> {
    const { storage } = this.#state;
    await this.#state.blockConcurrencyWhile(async () => {
      if ((await this.#keeper?.sweep()) === false) return storage.setAlarm(alarmAt());
      const store = this.#store();
      store.sweep(Date.now() - HOLDER_MS);
      const [left] = storage.sql.exec(LEFT).toArray();
      if ((left?.keys ?? 0) > 0) return storage.setAlarm(alarmAt(left?.whole_at));
      this.#keeper = null;
      this.#alarmSet = false;
      await storage.deleteAll();
    });
  }

  #store(): LedgerStore {
    const { storage } = this.#state;
    return storedIn(storage, async (changes) => {
      if (this.#alarmSet) return;
      await storage.setAlarm(alarmAt(changes[0]?.wholeAt));
      this.#alarmSet = true;
    });
  }
}

/** Longest that a middle ledger waits for home, ms: its holders have deadlines of their own. */
const HOME_MS = 500;

/**
 * A middle ledger of one key at one place: a region between isolates and home, or a shard of a hot
 * key. Export it from your Worker and bind it. It stores nothing.
 */
export class MiddleObject extends workers.DurableObject {
  readonly #env: unknown;
  #middle: Middle | null = null;

  constructor(ctx: unknown, env: unknown) {
    super(ctx as never, env as never);
    this.#env = env;
  }

  /** The way home; override it where the binding of LedgerObject isn't called LEDGER. */
  protected home(env: unknown): Ledgers {
    return durableObject((env as { LEDGER: LedgerNamespace }).LEDGER);
  }

  /** Decides the ops of one holder out of what it holds, or asks home. For links, not for you. */
  async ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    this.#middle ??= new Middle({ home: this.home(this.#env), ambient, deadlineMs: HOME_MS });
    return this.#middle.ask(address, request).catch(errorReply);
  }
}

const LEFT = "SELECT count(*) AS keys, max(whole_at) AS whole_at FROM ledger";

export interface DurableObjectOptions {
  /** strict() unless given. */
  durability?: Durability;
  /** The binding of MiddleObject, for sharded() and for regions. */
  middle?: LedgerNamespace;
}

/**
 * The link to ledgers in Durable Objects, one for each key.
 *
 * With `middle`, its `at(place)` is the link to the middle ledgers at a place of your naming, such
 * as `request.cf.colo`: a key's object there is made near to who asks it first.
 *
 * @param namespace  the binding of LedgerObject, as in env.LEDGER
 */
export function durableObject(
  namespace: LedgerNamespace,
  options: DurableObjectOptions & { middle: LedgerNamespace },
): PlacedLink;
export function durableObject(namespace: LedgerNamespace, options?: DurableObjectOptions): Link;
export function durableObject(namespace: LedgerNamespace, options: DurableObjectOptions = {}): Link {
  requireNamespace("durableObject's namespace", namespace, "LedgerObject, such as env.LEDGER");
  requireKnown("durableObject", options, ["durability", "middle"]);
  const { durability = strict(), middle } = options;
  const link: Link = {
    ...overLedgers,
    durability,
    outlive,
    ask: (address, request) => ask(namespace, address, address, request),
  };
  if (middle === undefined) return link;
  requireNamespace("middle", middle, "MiddleObject, such as env.MIDDLE");
  const at = (place: string): Link => ({
    ...link,
    middle: true,
    ask: (address, request) => ask(middle, JSON.stringify([place, address]), address, request),
  });
  const placed: PlacedLink = { ...link, at };
  return placed;
}

function requireNamespace(name: string, namespace: LedgerNamespace, of: string): void {
  if (typeof namespace?.idFromName !== "function") throw badOption(name, namespace, `the binding of ${of}`);
}

function ask(
  namespace: LedgerNamespace,
  object: string,
  address: string,
  request: LedgerRequest,
): Promise<LedgerReply> {
  // Other requests may wait for it too: it must not end when this one's client goes away.
  return carried((stubOf(namespace, object) as LedgerStub).ask(address, request));
}
