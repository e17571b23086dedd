// A Worker in front of an API that many customers use: each has a plan, and each of its endpoints a
// limit of its own below that. What one customer does costs no other anything.
import { createLimiter, exact, type Limiter, tokenBucket } from "sluice";
import { type LedgerNamespace, TenantObject, tenants } from "sluice/durable-object";
import { rateLimit } from "sluice/http";

export { TenantObject };

interface Env {
  TENANTS: LedgerNamespace;
}

/** Routes and not paths: who makes up paths must not make up endpoints. */
const ROUTES: [name: string, pattern: RegExp][] = [
  ["POST /login", /^POST \/login$/],
  ["GET /reports", /^GET \/reports(\/|$)/],
];

function routeOf(request: Request): string {
  const asked = `${request.method} ${new URL(request.url).pathname}`;
  return ROUTES.find(([, pattern]) => pattern.test(asked))?.[0] ?? "other";
}

let limiter: Limiter | undefined;

/** One for the isolate, made when the first request brings the bindings. */
function limiterOf(env: Env): Limiter {
  limiter ??= createLimiter({
    name: "api",
    plan: tokenBucket({ rate: 600, per: "1d", burst: 12 }), // what a customer may do in all
    policy: tokenBucket({ rate: 300, per: "1d", burst: 8 }), // on each endpoint
    endpoints: { "POST /login": tokenBucket({ rate: 50, per: "1d", burst: 2 }) },
    design: exact(), // or lease(): tokens of the endpoint and of the plan at once
    link: tenants(env.TENANTS),
    onUnreachable: "deny",
    onError: (error) => console.error(`no answer from the tenant: ${error}`),
  });
  return limiter;
}

const limited = rateLimit<[env: Env]>(
  {
    limiter: (_, env) => limiterOf(env),
    // Whoever has been authenticated; a header stands for that here.
    key: (request) => [request.headers.get("x-customer") ?? "nobody", routeOf(request)],
  },
  (request) => new Response(`hello ${request.headers.get("x-customer")}\n`),
);

export default { fetch: limited };
