import type { FastifyPluginCallback, FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { badOption, requireKnown } from "../errors.ts";
import { guard, OPTION_NAMES, type RateLimitOptions, type Verdict } from "./guard.ts";
import { CONTENT_TYPE, type Field, writeFields } from "./headers.ts";
import { after, goOn } from "./maybe.ts";
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
export function rateLimit(options: Omit<FastifyRateLimitOptions, "hook">): onRequestHookHandler {
  requireKnown("rateLimit", options, OPTION_NAMES);
  const judge = guard(options);
  const pass = (reply: FastifyReply, verdict: Verdict | null): boolean => {
    if (verdict) write(reply, verdict.fields());
    return true;
  };
  const refuse = async (request: FastifyRequest, reply: FastifyReply, verdict: Verdict): Promise<boolean> => {
    const { status, fields, body } = verdict.refusal();
    reply.code(status);
    write(reply, fields);
    await options.onLimit?.(verdict.decision, request, reply);
    if (!reply.sent) reply.type(CONTENT_TYPE).send(body);
    return false;
  };
  return (request, reply, done) =>
    goOn(
      () =>
        after(judge(new NodeSeen(request.raw), [request, reply]), (verdict) =>
          verdict?.refused ? refuse(request, reply, verdict) : pass(reply, verdict),
        ),
      done as (error?: unknown) => void,
    );
}

function write(reply: FastifyReply, fields: readonly Field[]): void {
  writeFields(
    fields,
    (name) => reply.getHeader(name),
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
