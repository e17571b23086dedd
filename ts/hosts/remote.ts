import { remoteFor } from "./remote-link.ts";

export { type LedgerHandlerOptions, ledgerHandler } from "./ledger-handler.ts";
export { type RegionalOptions, regional } from "./regional.ts";
export type { RemoteOptions } from "./remote-link.ts";

export const remote = remoteFor({ inFlightMax: 8 });
