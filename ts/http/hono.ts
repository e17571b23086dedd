import type { Context, Env, MiddlewareHandler } from "hono";
import { refuse, tell } from "./fetch.ts";
import { guard, type RateLimitOptions, requireOptions } from "./guard.ts";
import { isPromise } from "./maybe.ts";
import { FetchSeen } from "./seen.ts";

/**
 * Middleware for Hono, in every runtime that Hono runs in.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 */
export function rateLimit<E extends Env = Env>(
  options: RateLimitOptions<[context: Context<E>], Response>,
): MiddlewareHandler<E> {
  requireOptions(options);
  const judge = guard(options);
  return async (context, next) => {
    const request = context.req.raw;
    // Bun.serve's server may have been wrapped, as Hono's own adapter reads it.
    const env = context.env as { server?: unknown } | undefined;
    const judged = judge(new FetchSeen(request, env && "server" in env ? env.server : env), [context]);
    const verdict = isPromise(judged) ? await judged : judged;
    if (verdict?.refused) return refuse(verdict, request.method, await options.onLimit?.(verdict.decision, context));
    await next();
    if (verdict) {
      const told = tell(context.res, verdict);
      if (told !== context.res) {
        // Hono would copy the headers of the response that this one takes the place of.
        context.res = undefined;
        context.res = told;
      }
    }
    return undefined;
  };
}

export * from "./shared.ts";
