// One ledger per Durable Object: a single writer with its own SQLite, addressed by key.
import * as workers from "cloudflare:workers";
import { instantiate } from "../core/instantiate.ts";
import { badOption, requireKnown } from "../errors.ts";
import { strict } from "../ledger/durability.ts";
import { Keeper } from "../ledger/keeper.ts";
import type { Durability, LedgerReply, LedgerRequest, Link } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { HOLDER_MS } from "../ledger/state.ts";
import type { LedgerStore } from "../ledger/store.ts";
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
      later: (ms, callback) => void setTimeout(callback, ms),
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
      this.#alarmSet = true;
      await storage.setAlarm(alarmAt(changes[0]?.wholeAt));
    });
  }
}

const LEFT = "SELECT count(*) AS keys, max(whole_at) AS whole_at FROM ledger";

/**
 * The link to ledgers in Durable Objects, one for each key.
 *
 * @param namespace           the binding of LedgerObject, as in env.LEDGER
 * @param options.durability  strict() unless given
 */
export function durableObject(namespace: LedgerNamespace, options: { durability?: Durability } = {}): Link {
  if (typeof namespace?.idFromName !== "function") {
    throw badOption("durableObject's namespace", namespace, "the binding of LedgerObject, such as env.LEDGER");
  }
  requireKnown("durableObject", options, ["durability"]);
  return {
    durability: options.durability ?? strict(),
    ask: (address, request) => carried((stubOf(namespace, address) as LedgerStub).ask(address, request)),
    outlive,
  };
}
