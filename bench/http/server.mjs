// The contenders of the comparison, each with its default options but for a limit that nobody meets.
// Forked as server.mjs FRAMEWORK/LIMITER it serves one: tells its port, then its CPU time, or what a turn
// of requests without sockets takes it, when asked.
//
// What they answer with: sluice RateLimit-Policy and RateLimit (draft 11, with a partition key);
// "x-ratelimit" and @fastify/rate-limit the three X-RateLimit fields; express-rate-limit those and Date,
// with draft 8 what sluice has; hono-rate-limiter draft 6's four RateLimit fields.
import { createServer } from "node:http";
import fastifyRateLimit from "@fastify/rate-limit";
import { getRequestListener } from "@hono/node-server";
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
import { turn } from "./inner.mjs";

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

/** A framework's app behind a contender, as a handler of Node's kind. */
const APPS = {
  async express(kind) {
    const app = express().disable("etag").disable("x-powered-by");
    const middleware = EXPRESS[kind]();
    if (middleware) app.use(middleware);
    app.get("/", (_, response) => void response.type("text/plain").send("hello"));
    return app;
  },
  async fastify(kind) {
    const app = fastify();
    await FASTIFY[kind](app);
    app.get("/", (_, reply) => void reply.type("text/plain").send("hello"));
    await app.ready();
    return app.routing;
  },
  async hono(kind) {
    const app = new Hono();
    const middleware = HONO[kind]();
    if (middleware) app.use(middleware);
    app.get("/", (context) => context.text("hello"));
    return getRequestListener(app.fetch);
  },
};

export const CONTENDERS = Object.entries({ express: EXPRESS, fastify: FASTIFY, hono: HONO }).flatMap(
  ([framework, kinds]) => Object.keys(kinds).map((kind) => ({ framework, kind })),
);

if (process.send) {
  const [, framework, kind] = /^([^/]+)\/(.+)$/.exec(process.argv[2]);
  const app = await APPS[framework](kind);
  const server = createServer(app);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.on("message", async (asked) => process.send(asked === "turn" ? await turn(app) : process.cpuUsage()));
  process.send(server.address().port);
}
