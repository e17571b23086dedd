// A ledger store in SQLite, for every host that has one. Two tables: what a key's state is, and
// what is remembered of its holders, so that a commit writes one small row of each.
import type { HolderState } from "./state.ts";
import { parseState } from "./state.ts";
import type { KeyChange, LedgerStore } from "./store.ts";

type Value = string | number | null;

/** The little that is needed of a SQLite binding. All calls are synchronous. */
export interface SqlDatabase {
  /** Runs one statement and returns its rows. */
  run(sql: string, ...values: Value[]): Record<string, Value>[];
  /** Runs `body` in one durable transaction: all of it or, if it throws, nothing. */
  transaction(body: () => void): void;
  close(): void;
}

const TABLES = [
  "CREATE TABLE IF NOT EXISTS ledger (address TEXT PRIMARY KEY, state TEXT, whole_at INTEGER) WITHOUT ROWID",
  "CREATE INDEX IF NOT EXISTS ledger_whole ON ledger (whole_at) WHERE whole_at IS NOT NULL",
  "CREATE TABLE IF NOT EXISTS holder (address TEXT, id TEXT, heard_at INTEGER, state TEXT, PRIMARY KEY (address, id)) WITHOUT ROWID",
  "CREATE INDEX IF NOT EXISTS holder_heard ON holder (heard_at)",
];
const READ_LEDGER = "SELECT state FROM ledger WHERE address = ?";
const READ_HOLDERS = "SELECT id, state FROM holder WHERE address = ?";
const WRITE_LEDGER = "INSERT OR REPLACE INTO ledger (address, state, whole_at) VALUES (?, ?, ?)";
const WRITE_HOLDER = "INSERT OR REPLACE INTO holder (address, id, heard_at, state) VALUES (?, ?, ?, ?)";
const SWEEP_LEDGERS = "DELETE FROM ledger WHERE whole_at <= ?";
const SWEEP_HOLDERS = "DELETE FROM holder WHERE heard_at <= ?";

/** The store in `db`, which gets its tables if it has none. @throws what the binding throws */
export function sqlStore(db: SqlDatabase): LedgerStore {
  for (const table of TABLES) db.run(table);
  return {
    read(address) {
      const row = db.run(READ_LEDGER, address)[0];
      if (!row) return null;
      const holders = db.run(READ_HOLDERS, address);
      return {
        state: row.state === null ? null : parseState(row.state as string),
        holders: holders.map(({ id, state }) => [id as string, JSON.parse(state as string) as HolderState]),
      };
    },
    write(changes) {
      db.transaction(() => {
        for (const change of changes) writeChange(db, change);
      });
    },
    sweep(before) {
      db.transaction(() => {
        db.run(SWEEP_LEDGERS, before);
        db.run(SWEEP_HOLDERS, before);
      });
    },
    close: () => db.close(),
  };
}

function writeChange(db: SqlDatabase, { address, state, holders, wholeAt }: KeyChange): void {
  db.run(WRITE_LEDGER, address, state === null ? null : JSON.stringify(state), wholeAt);
  for (const [id, holder] of holders) db.run(WRITE_HOLDER, address, id, holder.at, JSON.stringify(holder));
}
