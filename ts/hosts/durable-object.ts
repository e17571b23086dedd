// One ledger per Durable Object: a single writer with its own SQLite, addressed by key.
import * as workers from "cloudflare:workers";
import { instantiate } from "../core/instantiate.ts";
import { badOption, requireKnown } from "../errors.ts";
import { strict } from "../ledger/durability.ts";
import { Keeper } from "../ledger/keeper.ts";
import type { Durability, LedgerReply, LedgerRequest, Link } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { sqlStore } from "../ledger/sql-store.ts";
import { HOLDER_MS } from "../ledger/state.ts";
import type { LedgerStore } from "../ledger/store.ts";

/** The little of the platform that is used here, so that no types of it are needed. */
interface ObjectStorage {
  sql: { exec(query: string, ...values: unknown[]): { toArray(): Record<string, never>[] } };
  transactionSync(body: () => void): void;
  sync(): Promise<void>;
  setAlarm(time: number): Promise<void>;
  deleteAll(): Promise<void>;
}
interface ObjectState {
  storage: ObjectStorage;
  blockConcurrencyWhile<T>(body: () => Promise<T>): Promise<T>;
}
interface LedgerStub {
  ask(address: string, request: LedgerRequest): Promise<LedgerReply>;
}
/** A binding to the namespace of LedgerObject. */
export interface LedgerNamespace {
  idFromName(name: string): unknown;
  get(id: never): unknown;
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
    const store = sqlStore({
      run: (sql, ...values) => storage.sql.exec(sql, ...values).toArray(),
      transaction: (body) => storage.transactionSync(body),
      close: () => {},
    });
    return {
      ...store,
      write: async (changes) => {
        store.write(changes);
        if (!this.#alarmSet) {
          this.#alarmSet = true;
          await storage.setAlarm(alarmAt(changes[0]?.wholeAt));
        }
        await storage.sync();
      },
    };
  }
}

const ignore = () => {};
const outlive = (work: Promise<unknown>) => workers.waitUntil?.(work);

const LEFT = "SELECT count(*) AS keys, max(whole_at) AS whole_at FROM ledger";
/** From when a key is whole until its object cleans up. */
const SWEEP_MS = HOLDER_MS + 60_000;
/** Longest until it looks whether it may: the platform refuses alarms that are centuries away. */
const ALARM_MS_MAX = 365 * 86_400_000;

/** When to clean up behind a key that is whole at `wholeAt`, epoch ms; null: not known. */
function alarmAt(wholeAt: number | null = null): number {
  const now = Date.now();
  return Math.min(Math.max(wholeAt ?? 0, now) + SWEEP_MS, now + ALARM_MS_MAX);
}

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
    ask(address, request) {
      const stub = namespace.get(namespace.idFromName(address) as never) as LedgerStub;
      const answer = stub.ask(address, request);
      // Other requests may wait for it too: it must not end when this one's client goes away.
      outlive(answer.then(ignore, ignore));
      return answer;
    },
    outlive,
  };
}
