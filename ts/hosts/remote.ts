import { type Remote, remoteFor } from "./remote-link.ts";

export { type LedgerHandlerOptions, ledgerHandler } from "./ledger-handler.ts";
export { type RegionalOptions, regional } from "./regional.ts";
export type { Remote, RemoteOptions } from "./remote-link.ts";

export const remote: Remote = remoteFor({ inFlightMax: 8 });
