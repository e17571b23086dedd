import type { FastifyPluginCallback, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import { badOption, requireKnown } from "../errors.ts";
import { guard, OPTION_NAMES, type RateLimitOptions, type Verdict } from "./guard.ts";
import { CONTENT_TYPE, type Field, writeFields } from "./headers.ts";
import { NodeSeen } from "./seen.ts";

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
export function rateLimit(options: Omit<FastifyRateLimitOptions, "hook">): onRequestAsyncHookHandler {
  requireKnown("rateLimit", options, OPTION_NAMES);
  const judge = guard(options);
  const refuse = async (verdict: Verdict, request: FastifyRequest, reply: FastifyReply) => {
    const { status, fields, body } = verdict.refusal();
    reply.code(status);
    write(reply, fields);
    await options.onLimit?.(verdict.decision, request, reply);
    if (!reply.sent) reply.type(CONTENT_TYPE).send(body);
    return reply;
  };
  return (request, reply) =>
    judge(new NodeSeen(request.raw), [request, reply]).then((verdict) => {
      if (verdict?.refused) return refuse(verdict, request, reply);
      if (verdict) write(reply, verdict.fields());
      return undefined;
    });
}

function write(reply: FastifyReply, fields: readonly Field[]): void {
  writeFields(
    fields,
    (name) => (reply.hasHeader(name) ? reply.getHeader(name) : undefined),
    (name, value) => reply.header(name, value),
  );
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
  if (hook !== "onRequest" && hook !== "preHandler") throw badOption("hook", hook, '"onRequest" or "preHandler"');
  app.addHook(hook as "onRequest", rateLimit(options));
  done();
};

// Fastify gives a plugin an instance of its own, whose hooks reach nobody else, unless it asks not to.
Object.assign(rateLimitPlugin, { [Symbol.for("skip-override")]: true, [Symbol.for("fastify.display-name")]: "sluice" });

export * from "./shared.ts";
