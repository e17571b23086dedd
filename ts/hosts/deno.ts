// Deno: its node:sqlite, and Deno.serve.
import { DatabaseSync } from "node:sqlite";
import { type Embedded, embeddedOn } from "./embedded.ts";
import { type LedgerServer, type ServeOptions, serving } from "./serve.ts";

export const embedded: Embedded = embeddedOn(() => DatabaseSync);
export { denoKv, type Kv } from "./deno-kv.ts";
export type { Embedded, EmbeddedOptions } from "./embedded.ts";
export type { LedgerServer, ServeOptions } from "./serve.ts";

/** The little of the platform that is used here, so that no types of it are needed. */
interface Runtime {
  serve(
    options: { port: number; hostname: string; signal: AbortSignal; onListen(): void },
    handler: (request: Request) => Promise<Response>,
  ): { addr: { port: number }; finished: Promise<void> };
}

/** Serves the ledgers behind a link to other processes, who reach them by remote(url). See ServeOptions. */
export async function serveLedger(options: ServeOptions): Promise<LedgerServer> {
  const { port, host, handle } = serving(options);
  const { Deno } = globalThis as unknown as { Deno: Runtime };
  const stop = new AbortController();
  const server = Deno.serve({ port, hostname: host, signal: stop.signal, onListen() {} }, handle);
  return {
    port: server.addr.port,
    close() {
      stop.abort();
      return server.finished;
    },
  };
}
