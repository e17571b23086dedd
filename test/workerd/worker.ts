// The Worker under test: it only lends its classes to the tests.
import { TenantObject as Tenant } from "../../ts/hosts/durable-object.ts";

export { LedgerObject, MiddleObject } from "../../ts/hosts/durable-object.ts";

interface Context {
  storage: { sql: { exec(query: string): { toArray(): { name: string }[] } } };
  facets: {
    get(name: string, start: () => { class: unknown }): { rows(): Promise<string> };
    abort(name: string, reason: unknown): void;
  };
  exports: Record<string, unknown>;
}

const TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'";

/** The tenant's class, which can also tell what its facets have stored. */
export class TenantObject extends Tenant {
  rows(): string {
    const { sql } = this.#context.storage;
    const tables = sql.exec(TABLES).toArray();
    return JSON.stringify(tables.map(({ name }) => [name, sql.exec(`SELECT * FROM "${name}"`).toArray()]));
  }

  readFacet(name: string): Promise<string> {
    const { facets, exports } = this.#context;
    return facets.get(name, () => ({ class: exports.TenantObject })).rows();
  }

  get #context(): Context {
    return (this as unknown as { ctx: Context }).ctx;
  }
}

export default { fetch: () => new Response("no requests here", { status: 404 }) };
