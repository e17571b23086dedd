// A ledger's SQLite file, over whichever binding the host has: node:sqlite, or better-sqlite3.
import { LimiterError } from "../errors.ts";
import type { SqlDatabase } from "../ledger/sql-store.ts";

type Value = string | number | null;

/** What the bindings have in common. */
interface Statement {
  all(...values: Value[]): unknown[];
  run(...values: Value[]): unknown;
  /** better-sqlite3 alone: whether it returns rows. */
  reader?: boolean;
}
interface Binding {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
export type SqliteClass = new (path: string) => Binding;

/**
 * Opens a file that belongs to this process alone until it is closed.
 *
 * Write-ahead log with synchronous = FULL: a transaction that was committed survives a crash of
 * the machine.
 * @throws {LimiterError} "storage": it can't be opened, or another process has it
 */
export function openSqlite(Database: SqliteClass, path: string): SqlDatabase {
  const db = open(Database, path);
  try {
    // Long enough for a process that is just ending to give the file up.
    db.exec("PRAGMA busy_timeout = 1000");
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    // The exclusive lock is taken at the first write, and must not wait for the first request.
    db.exec("BEGIN IMMEDIATE; COMMIT");
  } catch (cause) {
    db.close();
    const busy = /locked|busy/i.test(String(cause));
    const what = busy ? "is in use by another process, or by another link of this one" : `can't be opened: ${cause}`;
    throw new LimiterError("storage", `the ledger file ${path} ${what}`, { cause });
  }
  return databaseOf(db);
}

function open(Database: SqliteClass, path: string): Binding {
  try {
    return new Database(path);
  } catch (cause) {
    throw new LimiterError("storage", `the ledger file ${path} can't be opened: ${cause}`, { cause });
  }
}

function databaseOf(db: Binding): SqlDatabase {
  const statements = new Map<string, Statement>();
  return {
    run(sql, ...values) {
      let statement = statements.get(sql);
      if (!statement) {
        statement = db.prepare(sql);
        statements.set(sql, statement);
      }
      if (statement.reader !== false) return statement.all(...values) as Record<string, Value>[];
      statement.run(...values);
      return [];
    },
    transaction(body) {
      db.exec("BEGIN IMMEDIATE");
      try {
        body();
        db.exec("COMMIT");
      } catch (error) {
        rollback(db);
        throw error;
      }
    },
    close: () => db.close(),
  };
}

/** After some errors, such as a full disk, SQLite has rolled back by itself. */
function rollback(db: Binding): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // There is nothing left to roll back.
  }
}
