import express from "express";
import fastify, { type FastifyRequest } from "fastify";
import { Hono } from "hono";
import { expectTypeOf, test } from "vitest";
import { byIp as byIpExpress, byUser as byUserExpress, rateLimit as expressLimit } from "../../ts/http/express.ts";
import { byUser as byUserFastify, rateLimit as fastifyLimit, rateLimitPlugin } from "../../ts/http/fastify.ts";
import { byIp, rateLimit } from "../../ts/http/fetch.ts";
import { byHeader, byUser, compound, rateLimit as honoLimit } from "../../ts/http/hono.ts";
import { createLimiter, type Limiter, tokenBucket } from "../../ts/index.ts";

// The compiler checks this file; that it also runs shows only that nothing throws at construction.
const limiter = createLimiter({ policy: tokenBucket({ rate: 1 }) });

test("Hono's environment reaches every callback", () => {
  type Env = { Bindings: { LIMITER: Limiter }; Variables: { userId: string } };
  const app = new Hono<Env>();
  app.use(
    honoLimit<Env>({
      limiter: (context) => context.env.LIMITER,
      key: byUser((context) => context.get("userId"), { missing: byHeader("x-api-key", { missing: () => "none" }) }),
      skip: (context) => context.req.path === "/health",
      onLimit: (decision, context) => context.json({ wait: decision.retryAfterMs }, 429),
    }),
  );
  app.use(honoLimit<Env>({ limiter, key: compound(byIp(), (context) => context.req.path) }));
  app.use(
    honoLimit<Env>({ limiter, key: (context) => context.get("userId"), onLimit: (decision) => console.log(decision) }),
  );
});

test("Express's request and response reach every callback", () => {
  const app = express();
  app.use(
    expressLimit({
      limiter,
      key: byIpExpress({ missing: () => null }),
      cost: (request) => request.query.length as unknown as number,
      onLimit: (_, request, response) => response.json({ path: request.path }),
    }),
  );
  app.use(expressLimit({ limiter, key: byUserExpress((request: express.Request) => request.ip) }));
  app.get("/", expressLimit({ limiter, key: (request) => request.path }), (_, response) => void response.send());
});

test("Fastify's request and reply reach every callback", () => {
  const app = fastify();
  app.register(rateLimitPlugin, {
    limiter,
    key: byUserFastify((request: FastifyRequest) => request.id),
    onLimit: (_, request, reply) => reply.send({ path: request.url }),
  });
  app.get("/", { onRequest: fastifyLimit({ limiter, key: byUserFastify((request) => request.ip) }) }, () => "");
});

test("a fetch-style handler keeps its arguments", () => {
  const worker = rateLimit(
    { limiter: (_, env) => env.LIMITER, key: byIp({ missing: () => "none" }) },
    (request: Request, env: { LIMITER: Limiter }) => new Response(request.url + env.LIMITER.name),
  );
  expectTypeOf(worker).parameters.toEqualTypeOf<[request: Request, env: { LIMITER: Limiter }]>();
  rateLimit({ limiter, key: byIp() }, () => new Response());
});
