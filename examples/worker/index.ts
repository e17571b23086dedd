// A Worker that limits an origin by client, exactly and over all PoPs: each client's budget is
// kept by one Durable Object. `npm start` runs this very file.
import { createLimiter, type Decision, exact, type Limiter, parsePolicy } from "sluice";
import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";

export { LedgerObject };

interface Env {
  LEDGER: LedgerNamespace;
  ORIGIN: { fetch(request: Request): Promise<Response> };
  /** Like "tokenBucket:rate=10,per=1m,burst=20". */
  POLICY: string;
}

let limiter: Limiter | undefined;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    limiter ??= createLimiter({
      policy: parsePolicy(env.POLICY),
      name: "demo",
      design: exact(),
      link: durableObject(env.LEDGER),
      onUnreachable: "deny",
      onError: (error) => console.error(`no answer from the ledger: ${error}`),
    });
    // Cloudflare sets this header itself, whatever the client sent.
    const client = request.headers.get("cf-connecting-ip");
    if (!client) return new Response("cf-connecting-ip is missing\n", { status: 400 });
    const decision = await limiter.limit(client);
    if (!decision.success) return refusal(decision);
    const origin = await env.ORIGIN.fetch(request);
    const response = new Response(origin.body, origin);
    for (const [name, value] of headersOf(decision)) response.headers.set(name, value);
    return response;
  },
};

/** The limit as the IETF's draft on RateLimit header fields has it. */
function headersOf({ policy, limit, remaining, reset }: Decision): [string, string][] {
  const seconds = Math.max(0, Math.ceil((reset - Date.now()) / 1000));
  return [
    ["ratelimit-policy", `"${policy}";q=${limit}`],
    ["ratelimit", `"${policy}";r=${remaining};t=${seconds}`],
  ];
}

/** 429 for a limit that is used up; 503 if that couldn't be found out. */
function refusal(decision: Decision): Response {
  const unknown = decision.reason === "unreachable";
  const status = unknown ? 503 : 429;
  const seconds = Math.max(1, Math.ceil((decision.retryAfterMs ?? 0) / 1000));
  const problem = {
    type: "about:blank",
    title: unknown ? "Service Unavailable" : "Too Many Requests",
    status,
    detail: unknown ? "The rate limit could not be checked." : `Try again in ${seconds} s.`,
  };
  const headers = new Headers({
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    "retry-after": String(seconds),
  });
  for (const [name, value] of unknown ? [] : headersOf(decision)) headers.set(name, value);
  return new Response(`${JSON.stringify(problem)}\n`, { status, headers });
}
