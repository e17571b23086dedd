// The part of the test pool's module that is used here.
declare module "cloudflare:test" {
  interface Storage {
    sql: { exec(query: string): { toArray(): unknown[] } };
  }
  type Namespace = import("../../ts/hosts/durable-object.ts").LedgerNamespace;
  export const env: { LEDGER: Namespace; MIDDLE: Namespace };
  export function runDurableObjectAlarm(stub: unknown): Promise<boolean>;
  export function runInDurableObject<T>(
    stub: unknown,
    body: (instance: unknown, state: { storage: Storage; abort(reason: string): void }) => T | Promise<T>,
  ): Promise<T>;
}
