import type { Readable, Writable } from "node:stream";

/** What a command touches of the process. Only main.ts takes it from the platform. */
export interface Io {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  /** Epoch ms; for the progress line alone, never for a decision. */
  now(): number;
}
