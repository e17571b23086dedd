// Home: a Worker that serves the ledgers of its Durable Objects to the PoPs, over HTTP.
import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";
import { ledgerHandler } from "sluice/remote";

export { LedgerObject };

interface Env {
  LEDGER: LedgerNamespace;
  TOKEN: string;
}

let handler: ((request: Request) => Promise<Response>) | undefined;

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    handler ??= ledgerHandler({ link: durableObject(env.LEDGER), token: env.TOKEN });
    return handler(request);
  },
};
