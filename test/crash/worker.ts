import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";
import { DURABILITIES, serve } from "./budgets.ts";

export { LedgerObject };

let answer: ((request: Request) => Promise<Response>) | undefined;

export default {
  fetch(request: Request, env: { LEDGER: LedgerNamespace }): Promise<Response> {
    answer ??= serve((budget) => durableObject(env.LEDGER, { durability: DURABILITIES[budget] }));
    return answer(request);
  },
};
