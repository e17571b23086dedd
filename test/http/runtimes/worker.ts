// A limited Worker, whose limiter is made from its bindings at the first request.
import { createLimiter, exact, fixedWindow, type Limiter, LimiterError } from "sluice";
import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";
import { byHeader, byIp, rateLimit } from "sluice/http";

export { LedgerObject };

interface Env {
  LEDGER: LedgerNamespace;
}

let limiter: Limiter | undefined;

function limiterOf(env: Env): Limiter {
  limiter ??= createLimiter({
    name: "api",
    policy: fixedWindow({ limit: 2, window: "300d" }),
    design: exact(),
    link: durableObject(env.LEDGER),
    onUnreachable: "deny",
  });
  return limiter;
}

const keyed = rateLimit(
  { limiter: (_, env) => limiterOf(env), key: byHeader("x-api-key") },
  (_: Request, __: Env) => new Response(),
);

const limited = rateLimit(
  { limiter: (_, env) => limiterOf(env), key: byIp() },
  // What fetch() gives has headers that can't be changed.
  (request: Request, _env: Env) =>
    request.url.endsWith("/redirect") ? Response.redirect("http://localhost/") : new Response("hello"),
);

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      return await (request.url.endsWith("/keyed") ? keyed : limited)(request, env);
    } catch (error) {
      return new Response(error instanceof LimiterError ? `LimiterError ${error.code}` : String(error), {
        status: 500,
      });
    }
  },
};
