// Node: its own SQLite (22.13 and newer), else the package better-sqlite3; and its own HTTP server.
import { createRequire } from "node:module";
import { LimiterError } from "../errors.ts";
import { type Embedded, embeddedOn } from "./embedded.ts";
import type { SqliteClass } from "./sqlite-file.ts";

export const embedded: Embedded = embeddedOn(bindingClass);
export type { Embedded, EmbeddedOptions } from "./embedded.ts";
export { serveLedger } from "./node-server.ts";
export type { LedgerServer, ServeOptions } from "./serve.ts";

function bindingClass(): SqliteClass {
  const require = createRequire(import.meta.url);
  try {
    return require("node:sqlite").DatabaseSync;
  } catch {
    // Node 20 has none, and some 22 hide it.
  }
  try {
    return require("better-sqlite3");
  } catch (cause) {
    const message = "no SQLite here: use Node 22.13 or newer, or install better-sqlite3 (12.x on Node 20)";
    throw new LimiterError("unsupported", message, { cause });
  }
}
