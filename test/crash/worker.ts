import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";
import { DURABILITIES, serve } from "./limiters.ts";

export { LedgerObject };

let answer: ((request: Request) => Promise<Response>) | undefined;

export default {
  fetch(request: Request, env: { LEDGER: LedgerNamespace }): Promise<Response> {
    answer ??= serve((mode) => durableObject(env.LEDGER, { durability: DURABILITIES[mode] as never }));
    return answer(request);
  },
};
