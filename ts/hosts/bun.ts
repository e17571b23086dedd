// Bun: its node:sqlite, and Bun.serve.
import { DatabaseSync } from "node:sqlite";
import { type Embedded, embeddedOn } from "./embedded.ts";
import { type LedgerServer, type ServeOptions, serving } from "./serve.ts";

export const embedded: Embedded = embeddedOn(() => DatabaseSync);
export type { Embedded, EmbeddedOptions } from "./embedded.ts";
export type { LedgerServer, ServeOptions } from "./serve.ts";

/** The little of the platform that is used here, so that no types of it are needed. */
interface Runtime {
  serve(options: { port: number; hostname: string; idleTimeout: number; fetch(request: Request): Promise<Response> }): {
    port: number;
    stop(now: boolean): Promise<void>;
  };
}

/** Serves the ledgers behind a link to other processes, who reach them by remote(url). See ServeOptions. */
export async function serveLedger(options: ServeOptions): Promise<LedgerServer> {
  const { port, host, idleMs, handle } = serving(options);
  const { Bun } = globalThis as unknown as { Bun: Runtime };
  const server = Bun.serve({ port, hostname: host, idleTimeout: idleMs / 1000, fetch: handle });
  return { port: server.port, close: () => server.stop(true) };
}
