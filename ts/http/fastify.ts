import type { FastifyPluginCallback, FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { requireKnown, requireOneOf } from "../errors.ts";
import { byCallback } from "./callback.ts";
import { OPTION_NAMES, type RateLimitOptions } from "./guard.ts";

/** `onLimit` may send the reply itself; if it does not, the problem is sent. */
export interface FastifyRateLimitOptions
  extends RateLimitOptions<[request: FastifyRequest, reply: FastifyReply], unknown> {
  /** When to limit: "onRequest" unless given; "preHandler" if the key or the cost needs the body or the user. */
  hook?: "onRequest" | "preHandler";
}

/**
 * A hook that limits the routes which it is given to, as in
 * `app.get("/search", { onRequest: rateLimit({ limiter, key: byIp() }) }, handler)`.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 */
export function rateLimit(options: Omit<FastifyRateLimitOptions, "hook">): onRequestHookHandler {
  requireKnown("rateLimit", options, OPTION_NAMES);
  return byCallback<FastifyRequest, FastifyReply>(
    {
      raw: (request) => request.raw,
      getHeader: (reply, name) => reply.getHeader(name),
      setHeader: (reply, name, value) => void reply.header(name, value),
      setStatus: (reply, status) => void reply.code(status),
      isSent: (reply) => reply.sent,
      send: (reply, body) => void reply.send(body),
    },
    options,
  ) as onRequestHookHandler;
}

/**
 * The plugin that limits every route of the instance which it is registered on, also those
 * registered before it and those of its children, and what is not found:
 * `await app.register(rateLimitPlugin, { limiter, key: byIp() })`.
 */
export const rateLimitPlugin: FastifyPluginCallback<FastifyRateLimitOptions> = (
  app,
  { hook = "onRequest", ...options },
  done,
) => {
  requireOneOf("hook", hook, ["onRequest", "preHandler"]);
  app.addHook(hook as "onRequest", rateLimit(options));
  done();
};

// Fastify gives a plugin an instance of its own, whose hooks reach nobody else, unless it asks not to.
Object.assign(rateLimitPlugin, { [Symbol.for("skip-override")]: true, [Symbol.for("fastify.display-name")]: "sluice" });

export * from "./shared.ts";
