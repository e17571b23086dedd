// One server of the comparison, in a process of its own: server.mjs FRAMEWORK/LIMITER.
// Tells its port, and its CPU time when it is asked.
import { createServer } from "node:http";
import fastifyRateLimit from "@fastify/rate-limit";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import express from "express";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import fastify from "fastify";
import { Hono } from "hono";
import { rateLimiter as honoRateLimiter } from "hono-rate-limiter";
import { createLimiter, fixedWindow } from "sluice";
import { byIp, rateLimit as sluiceExpress } from "sluice/express";
import { rateLimitPlugin as sluiceFastify } from "sluice/fastify";
import { rateLimit as sluiceHono } from "sluice/hono";

// So high that nobody is refused: what is compared is the way of a request that passes.
const limit = 1_000_000_000;
const windowMs = 3_600_000;
const limiter = createLimiter({ policy: fixedWindow({ limit, window: windowMs }) });
const sluice = (styles) => ({ limiter, key: byIp(), headers: { styles } });

const EXPRESS = {
  bare: () => undefined,
  sluice: () => sluiceExpress(sluice("standard")),
  "sluice, x-ratelimit": () => sluiceExpress(sluice("x-ratelimit")),
  "express-rate-limit": () => expressRateLimit({ windowMs, limit }),
  "express-rate-limit, draft-8": () =>
    expressRateLimit({ windowMs, limit, standardHeaders: "draft-8", legacyHeaders: false }),
};
const FASTIFY = {
  bare: () => {},
  sluice: (app) => app.register(sluiceFastify, sluice("standard")),
  "sluice, x-ratelimit": (app) => app.register(sluiceFastify, sluice("x-ratelimit")),
  "@fastify/rate-limit": (app) => app.register(fastifyRateLimit, { max: limit, timeWindow: windowMs }),
};
const HONO = {
  bare: () => undefined,
  sluice: () => sluiceHono(sluice("standard")),
  "sluice, x-ratelimit": () => sluiceHono(sluice("x-ratelimit")),
  "hono-rate-limiter": () =>
    honoRateLimiter({ windowMs, limit, keyGenerator: (context) => getConnInfo(context).remote.address }),
};

const starters = {
  async express(kind) {
    const app = express().disable("etag").disable("x-powered-by");
    const middleware = EXPRESS[kind]();
    if (middleware) app.use(middleware);
    app.get("/", (_, response) => void response.type("text/plain").send("hello"));
    const server = createServer(app);
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return server.address().port;
  },
  async fastify(kind) {
    const app = fastify();
    await FASTIFY[kind](app);
    app.get("/", (_, reply) => void reply.type("text/plain").send("hello"));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return app.addresses()[0].port;
  },
  async hono(kind) {
    const app = new Hono();
    const middleware = HONO[kind]();
    if (middleware) app.use(middleware);
    app.get("/", (context) => context.text("hello"));
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    await new Promise((resolve) => server.once("listening", resolve));
    return server.address().port;
  },
};

export const CONTENDERS = Object.entries({ express: EXPRESS, fastify: FASTIFY, hono: HONO }).flatMap(
  ([framework, kinds]) => Object.keys(kinds).map((kind) => ({ framework, kind })),
);

if (process.send) {
  const [framework, kind] = process.argv[2]
    .split("/", 1)
    .concat(process.argv[2].slice(process.argv[2].indexOf("/") + 1));
  process.on("message", () => process.send({ cpu: process.cpuUsage() }));
  process.send({ port: await starters[framework](kind) });
}
