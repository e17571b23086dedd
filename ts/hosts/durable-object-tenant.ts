// A Durable Object for each tenant, with a facet for each of its endpoints: a child of its own, with
// its own SQLite, which nobody can reach but through the tenant's object.

import * as workers from "cloudflare:workers";
import { instantiate } from "../core/instantiate.ts";
import type { Link } from "../designs/link.ts";
import { badOption, LimiterError, requireInteger, requireKnown } from "../errors.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import { type Children, sqlChildren } from "../ledger/children.ts";
import { strict } from "../ledger/durability.ts";
import { Keeper } from "../ledger/keeper.ts";
import type { Allotment, ChildReply, Durability, LedgerReply, LedgerRequest } from "../ledger/messages.ts";
import { HOLDER_MS } from "../ledger/state.ts";
import { CHILDREN_MAX, Supervisor } from "../ledger/supervisor.ts";
import { safe } from "../link/address.ts";
import { plansOf } from "../link/terms.ts";
import { ambient } from "./ambient.ts";
import {
  alarmAt,
  carried,
  databaseIn,
  type LedgerNamespace,
  type ObjectState,
  outlive,
  storedIn,
  stubOf,
} from "./durable-object-store.ts";

interface Child {
  askChild(child: string, requests: LedgerRequest[], allotment: Allotment, now: number): Promise<ChildReply>;
}
interface TenantState extends ObjectState {
  facets: {
    get(name: string, start: () => { class: unknown }): unknown;
    delete(name: string): void;
  };
  exports: Record<string, unknown>;
}
interface TenantStub {
  ask(request: LedgerRequest): Promise<LedgerReply>;
}

/**
 * The plan of one tenant, and the ledgers of its endpoints. Export it from your Worker under this
 * very name, bind it, and list it among the `new_sqlite_classes` of your migrations.
 *
 * The object itself has the plan; each endpoint is a facet of it, made of the same class, with a
 * database of its own. When all budgets have long been whole, it deletes what it stored.
 */
export class TenantObject extends workers.DurableObject {
  readonly #state: TenantState;
  #keeper: Keeper | null = null;
  #children: Children | null = null;
  #supervisor: Supervisor | null = null;
  #alarmSet = false;
  #sweptAt = 0;

  constructor(ctx: TenantState, env: unknown) {
    super(ctx as never, env as never);
    this.#state = ctx;
  }

  /** Decides a request to one of the endpoints. For links, not for you. */
  async ask(request: LedgerRequest): Promise<LedgerReply> {
    const { storage } = this.#state;
    this.#children ??= sqlChildren(databaseIn(storage), () => Date.now());
    this.#supervisor ??= new Supervisor({
      keeper: this.#keep(),
      children: this.#children,
      askChild: async (_, child, requests, allotment, now) => {
        const facet = this.#state.facets.get(await facetName(child), () => ({ class: this.#class() })) as Child;
        return facet.askChild(child, requests, allotment, now);
      },
      now: () => Date.now(),
      later: ambient.schedule,
    });
    if (!this.#alarmSet) {
      this.#alarmSet = true;
      void storage.setAlarm(alarmAt());
    }
    return this.#supervisor.ask(request);
  }

  /** An endpoint's part of a decision. For the tenant's own object, not for you. */
  async askChild(child: string, requests: LedgerRequest[], allotment: Allotment, now: number): Promise<ChildReply> {
    const keeper = this.#keep();
    // A facet has no alarms.
    if (this.#sweptAt > 0 && now > this.#sweptAt + HOLDER_MS) void keeper.sweep().catch(() => {});
    if (now > this.#sweptAt + HOLDER_MS) this.#sweptAt = now;
    return keeper.askChild(child, requests, allotment, now);
  }

  /** Cleans up behind endpoints that nobody uses any more. */
  async alarm(): Promise<void> {
    const { storage, facets } = this.#state;
    await this.#state.blockConcurrencyWhile(async () => {
      if ((await this.#keeper?.sweep()) === false) return storage.setAlarm(alarmAt());
      const before = Date.now() - HOLDER_MS;
      const children = this.#children ?? sqlChildren(databaseIn(storage), () => Date.now());
      storedIn(storage).sweep(before);
      for (const { child } of children.sweep(before)) {
        const name = await facetName(child);
        try {
          facets.delete(name);
        } catch {
          // It is gone already: the runtime makes that an error.
        }
      }
      const [left] = storage.sql.exec(LEFT).toArray();
      if ((left?.rows ?? 0) > 0) return storage.setAlarm(alarmAt(left?.whole_at));
      this.#keeper = null;
      this.#children = null;
      this.#supervisor = null;
      this.#alarmSet = false;
      // deleteAll would delete the facets as well, and fails where one is gone already.
      for (const table of ["ledger", "holder", "child"]) storage.sql.exec(`DROP TABLE IF EXISTS ${table}`);
    });
  }

  #keep(): Keeper {
    this.#keeper ??= new Keeper({
      store: storedIn(this.#state.storage),
      durability: strict(),
      now: () => Date.now(),
      soon: (callback) => queueMicrotask(callback),
      later: ambient.schedule,
      instantiate,
    });
    return this.#keeper;
  }

  #class(): unknown {
    const { TenantObject } = this.#state.exports;
    if (TenantObject) return TenantObject;
    throw new LimiterError(
      "unsupported",
      "the Worker must export TenantObject under that name: endpoints are made of it",
    );
  }
}

const LEFT =
  "SELECT count(*) AS rows, max(whole_at) AS whole_at FROM (SELECT whole_at FROM ledger UNION ALL SELECT until FROM child)";
/** Longest name of a facet. */
const NAME_BYTES_MAX = 256;

/** A facet's name: the endpoint's own, or the digest of one that is too long. */
async function facetName(child: string): Promise<string> {
  const name = safe(child);
  const bytes = new TextEncoder().encode(name);
  if (bytes.length <= NAME_BYTES_MAX) return name;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `#${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export interface TenantsOptions {
  /** strict() unless given. What is reserved in the plan is stored before an endpoint is asked, whatever this says. */
  durability?: Durability;
  /** Endpoints that a tenant may have at a time; 1,000 unless given. */
  childrenMax?: number;
}

/**
 * The link to tenants in Durable Objects, for a limiter with a plan: an object for each tenant, in
 * it a facet for each endpoint.
 *
 * @param namespace  the binding of TenantObject, as in env.TENANTS
 * @throws {RangeError} an option is unknown or out of range
 */
export function tenants(namespace: LedgerNamespace, options: TenantsOptions = {}): Link {
  if (typeof namespace?.idFromName !== "function") {
    throw badOption("tenants' namespace", namespace, "the binding of TenantObject, such as env.TENANTS");
  }
  requireKnown("tenants", options, ["durability", "childrenMax"]);
  const { durability = strict(), childrenMax } = options;
  if (childrenMax !== undefined) requireInteger("childrenMax", childrenMax, 1, CHILDREN_MAX);
  return {
    ...overLedgers,
    durability,
    plans: plansOf(childrenMax, true),
    async ask(_, request) {
      if (!request.plan) throw new RangeError("tenants() links to ledgers with a plan: the request names none");
      return carried((stubOf(namespace, request.plan.address) as TenantStub).ask(request));
    },
    outlive,
  };
}
