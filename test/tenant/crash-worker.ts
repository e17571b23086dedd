import { createLimiter, exact, tokenBucket } from "sluice";
import { type LedgerNamespace, TenantObject, tenants } from "sluice/durable-object";
import { OWN, PLAN, serve } from "./crash-served.ts";

export { TenantObject };

let answer: ((url: string) => Promise<Response>) | undefined;

export default {
  fetch(request: Request, env: { TENANTS: LedgerNamespace }): Promise<Response> {
    answer ??= serve(() =>
      createLimiter({
        policy: tokenBucket({ rate: 1, per: "365d", burst: OWN }),
        plan: tokenBucket({ rate: 1, per: "365d", burst: PLAN }),
        design: exact(),
        link: tenants(env.TENANTS),
        onUnreachable: "deny",
        deadline: "20s",
      }),
    );
    return answer(request.url);
  },
};
