// One ledger per Durable Object: a single writer with its own SQLite, addressed by key.
import { DurableObject } from "cloudflare:workers";
import type { LedgerReply, LedgerRequest, Link } from "../contract.ts";
import { instantiate } from "../core/instantiate.ts";
import { Meter } from "../core/meter.ts";
import { LimiterError } from "../errors.ts";
import { type LedgerState, step } from "../ledger/step.ts";
import { policyOf } from "../policies/spec.ts";

/** The little of the platform that is used here, so that no types of it are needed. */
interface SqlStorage {
  exec(query: string, ...values: unknown[]): { toArray(): Record<string, unknown>[] };
}
interface ObjectState {
  storage: { sql: SqlStorage; sync(): Promise<void> };
}
interface LedgerStub {
  ask(request: LedgerRequest): Promise<LedgerReply>;
}
/** A binding to the namespace of LedgerObject. */
export interface LedgerNamespace {
  idFromName(name: string): unknown;
  get(id: never): unknown;
}

let shared: Meter | undefined;

/**
 * The ledger of one key. Export it from your Worker, bind it, and list it among the
 * `new_sqlite_classes` of your migrations.
 *
 * Durability is strict: what a request changes is committed before its answer leaves.
 */
export class LedgerObject extends DurableObject {
  readonly #storage: ObjectState["storage"];
  #state: LedgerState | null = null;
  #last = 0;

  constructor(ctx: ObjectState, env: unknown) {
    super(ctx as never, env as never);
    this.#storage = ctx.storage;
    const { sql } = ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY CHECK (id = 0), state TEXT NOT NULL)");
    const row = sql.exec("SELECT state FROM ledger").toArray()[0];
    if (row) this.#state = JSON.parse(row.state as string) as LedgerState;
  }

  /** Decides the ops of one holder, in order; commits once. */
  async ask(request: LedgerRequest): Promise<LedgerReply> {
    shared ??= new Meter(instantiate());
    this.#last = Math.max(this.#last, Date.now());
    const { state, reply, changed } = step(shared, policyOf(request.policy), this.#state, request, this.#last);
    if (changed) {
      if (state)
        this.#storage.sql.exec("INSERT OR REPLACE INTO ledger (id, state) VALUES (0, ?)", JSON.stringify(state));
      else this.#storage.sql.exec("DELETE FROM ledger");
      this.#state = state;
      await this.#storage.sync();
    }
    return reply;
  }
}

/**
 * The link to ledgers in Durable Objects.
 * @param namespace  the binding of LedgerObject, as in env.LEDGER
 */
export function durableObject(namespace: LedgerNamespace): Link {
  return {
    async ask(address, request) {
      const stub = namespace.get(namespace.idFromName(address) as never) as LedgerStub;
      try {
        return await stub.ask(request);
      } catch (cause) {
        throw new LimiterError("unreachable", "the ledger's Durable Object gave no answer", { cause });
      }
    },
  };
}
