// What every Durable Object here has in common: ledgers in its SQLite, and how it is reached.
import * as workers from "cloudflare:workers";
import { type SqlDatabase, sqlStore } from "../ledger/sql-store.ts";
import { HOLDER_MS } from "../ledger/state.ts";
import type { KeyChange, LedgerStore } from "../ledger/store.ts";

/** The little of the platform that is used here, so that no types of it are needed. */
export interface ObjectStorage {
  sql: { exec(query: string, ...values: unknown[]): { toArray(): Record<string, never>[] } };
  transactionSync(body: () => void): void;
  sync(): Promise<void>;
  setAlarm(time: number): Promise<void>;
  deleteAll(): Promise<void>;
}
export interface ObjectState {
  storage: ObjectStorage;
  blockConcurrencyWhile<T>(body: () => Promise<T>): Promise<T>;
}
/** A binding to a namespace of Durable Objects. */
export interface LedgerNamespace {
  idFromName(name: string): unknown;
  get(id: never): unknown;
}

export function databaseIn(storage: ObjectStorage): SqlDatabase {
  return {
    run: (sql, ...values) => storage.sql.exec(sql, ...values).toArray(),
    transaction: (body) => storage.transactionSync(body),
    close: () => {},
  };
}

/** A ledger store in an object's SQLite. @param written  is told of each write */
export function storedIn(
  storage: ObjectStorage,
  written: (changes: readonly KeyChange[]) => Promise<void> = async () => {},
): LedgerStore {
  const store = sqlStore(databaseIn(storage));
  return {
    ...store,
    write: async (changes) => {
      store.write(changes);
      await written(changes);
      await storage.sync();
    },
  };
}

/** From when a key is whole until its object cleans up. */
const SWEEP_MS = HOLDER_MS + 60_000;
/** Longest until it looks whether it may: the platform refuses alarms that are centuries away. */
const ALARM_MS_MAX = 365 * 86_400_000;

/** When to clean up behind a key that is whole at `wholeAt`, epoch ms; null: not known. */
export function alarmAt(wholeAt: number | null = null): number {
  const now = Date.now();
  return Math.min(Math.max(wholeAt ?? 0, now) + SWEEP_MS, now + ALARM_MS_MAX);
}

export function stubOf(namespace: LedgerNamespace, name: string): unknown {
  return namespace.get(namespace.idFromName(name) as never);
}

const ignore = () => {};

/** Keeps work going that would end with the request that began it. */
export const outlive = (work: Promise<unknown>) => workers.waitUntil?.(work);

/** The answer: other requests may wait for it too, and it must not end when one's client goes away. */
export function carried<T>(answer: Promise<T>): Promise<T> {
  outlive(answer.then(ignore, ignore));
  return answer;
}
