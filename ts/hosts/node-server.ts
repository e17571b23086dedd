import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { type LedgerServer, type ServeOptions, serving } from "./serve.ts";

/** Serves the ledgers behind a link to other processes, who reach them by remote(url). See ServeOptions. */
export async function serveLedger(options: ServeOptions): Promise<LedgerServer> {
  const { port, host, idleMs, handle } = serving(options);
  const server = createServer({ keepAliveTimeout: idleMs }, (incoming, outgoing) => {
    answer(incoming, outgoing, handle).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

type Handler = ReturnType<typeof serving>["handle"];

/** @throws where the request can't be expressed as a Request, or its sender has gone */
async function answer(incoming: IncomingMessage, outgoing: ServerResponse, handle: Handler): Promise<void> {
  const response = await handle(requestOf(incoming));
  const body = new Uint8Array(await response.arrayBuffer());
  const headers = { ...Object.fromEntries(response.headers), "content-length": body.length };
  outgoing.writeHead(response.status, headers).end(body);
}

/** The handler looks at no path, and a stranger's need not even be one. */
function requestOf(incoming: IncomingMessage): Request {
  const { method = "GET", headers } = incoming;
  const init: RequestInit & { duplex: "half" } = { method, headers: headers as Record<string, string>, duplex: "half" };
  if (method !== "GET" && method !== "HEAD") init.body = Readable.toWeb(incoming) as ReadableStream;
  return new Request("http://ledger/", init);
}
