// A Worker that limits an origin by client, exactly and over all PoPs: each client's budget is
// kept by one Durable Object. `npm start` runs this very file.
import { createLimiter, exact, type Limiter, parsePolicy } from "sluice";
import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";
import { byIp, rateLimit } from "sluice/http";

export { LedgerObject };

interface Env {
  LEDGER: LedgerNamespace;
  ORIGIN: { fetch(request: Request): Promise<Response> };
  /** Like "tokenBucket:rate=10,per=1m,burst=20". */
  POLICY: string;
}

let limiter: Limiter | undefined;

/** One for the isolate, made when the first request brings the bindings. */
function limiterOf(env: Env): Limiter {
  limiter ??= createLimiter({
    policy: parsePolicy(env.POLICY),
    name: "demo",
    design: exact(),
    link: durableObject(env.LEDGER),
    onUnreachable: "deny",
    onError: (error) => console.error(`no answer from the ledger: ${error}`),
  });
  return limiter;
}

export default {
  fetch: rateLimit<[env: Env]>({ limiter: (_, env) => limiterOf(env), key: byIp() }, (request, env) =>
    env.ORIGIN.fetch(request),
  ),
};
