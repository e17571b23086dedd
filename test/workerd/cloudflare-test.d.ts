// The part of the test pool's module that is used here.
declare module "cloudflare:test" {
  interface Storage {
    sql: { exec(query: string): { toArray(): unknown[] } };
  }
  interface State {
    storage: Storage;
    facets: {
      get(name: string, start: () => { class: unknown }): unknown;
      abort(name: string, reason: unknown): void;
      delete(name: string): void;
    };
    exports: Record<string, unknown>;
    abort(reason: string): void;
  }
  type Namespace = import("../../ts/hosts/durable-object.ts").LedgerNamespace;
  export const env: { LEDGER: Namespace; MIDDLE: Namespace; TENANTS: Namespace };
  export function runDurableObjectAlarm(stub: unknown): Promise<boolean>;
  export function runInDurableObject<T>(
    stub: unknown,
    body: (instance: unknown, state: State) => T | Promise<T>,
  ): Promise<T>;
}
