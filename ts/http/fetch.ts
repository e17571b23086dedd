import { badOption } from "../errors.ts";
import { guard, type Own, type RateLimitOptions, requireOptions, type Verdict } from "./guard.ts";
import { CONTENT_TYPE, type Field } from "./headers.ts";
import { isPromise } from "./maybe.ts";
import { FetchSeen } from "./seen.ts";

/** What Workers, Bun.serve, Deno.serve and the like call: a request, and whatever they pass beside it. */
export type FetchHandler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | Promise<Response>;

/**
 * A handler that answers what its limiter admits with `handler`, and the rest with 429 or 503.
 *
 * For Bun.serve and Deno.serve pass it as the handler: they give the client's address beside
 * the request.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 */
export function rateLimit<Rest extends unknown[]>(
  options: RateLimitOptions<[request: Request, ...rest: NoInfer<Rest>], Response>,
  handler: FetchHandler<Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  requireOptions(options);
  if (typeof handler !== "function") throw badOption("handler", handler, "a function that answers a request");
  const judge = guard(options);
  return async (...args) => {
    const [request, beside] = args;
    const judged = judge(new FetchSeen(request, beside), args);
    const verdict = isPromise(judged) ? await judged : judged;
    if (!verdict) return handler(...args);
    if (!verdict.refused) return tell(await handler(...args), verdict);
    return refuse(verdict, request.method, await options.onLimit?.(verdict.decision, ...args));
  };
}

/** The answer of an admitted request, with what its client should know. */
export function tell(response: Response, verdict: Verdict): Response {
  // An inner limiter's, or the origin's.
  const refused = response.status === 429 || response.status === 503;
  return withFields(response, verdict.fields(refused ? response.headers.get("retry-after") : null));
}

/** The refusal of a request, or its own answer with a refusal's headers. */
export function refuse(verdict: Verdict, method: string, own: Own<Response>): Response {
  const { status, fields, body } = verdict.refusal();
  if (own) return withFields(own, fields);
  const headers = { "content-type": CONTENT_TYPE };
  return withFields(new Response(method === "HEAD" ? null : body, { status, headers }), fields);
}

function withFields(response: Response, fields: readonly Field[]): Response {
  if (fields.length === 0) return response;
  try {
    write(response.headers, fields);
    return response;
  } catch (error) {
    // What fetch() gave can't be changed, and an upgrade to WebSocket can't be made anew.
    if (!(error instanceof TypeError)) throw error;
    if (response.status === 101) return response;
    const changed = new Response(response.body, response);
    write(changed.headers, fields);
    return changed;
  }
}

function write(headers: Headers, fields: readonly Field[]): void {
  for (const { name, value, list } of fields) {
    if (list) headers.append(name, value);
    else headers.set(name, value);
  }
}

export * from "./shared.ts";
