import * as workers from "cloudflare:workers";
import { type Remote, remoteFor } from "./remote-link.ts";

export { type LedgerHandlerOptions, ledgerHandler } from "./ledger-handler.ts";
export { type RegionalOptions, regional } from "./regional.ts";
export type { Remote, RemoteOptions } from "./remote-link.ts";

// A request's work ends with it, unless it is told to wait. The runtime itself bounds how many
// connections a request has.
export const remote: Remote = remoteFor({
  inFlightMax: Number.POSITIVE_INFINITY,
  outlive: (work) => workers.waitUntil?.(work),
});
