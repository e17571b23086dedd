import fastify from "fastify";
import { expect, test } from "vitest";
import { byIp, rateLimit, rateLimitPlugin } from "../../ts/http/fastify.ts";
import { createLimiter, fixedWindow } from "../../ts/index.ts";
import { call, conforms, type PlainOptions, type Running } from "./conformance.ts";

const optionsOf = ({ onLimit, ...options }: PlainOptions): Parameters<typeof rateLimit>[0] => ({
  ...options,
  onLimit(decision, _, reply) {
    if (onLimit?.(decision) && !options.shadow) reply.code(418).send("own");
  },
});

const methods = ["GET", "HEAD", "OPTIONS"];

async function listen(app: ReturnType<typeof fastify>, handled: () => number): Promise<Running> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: app.addresses()[0]?.port as number, handled, close: () => app.close() };
}

conforms("fastify 5, as a plugin", {
  byIp,
  serve(...limiters) {
    let handled = 0;
    const app = fastify({ exposeHeadRoutes: false });
    const handler = async (request: { url: string }) => {
      handled++;
      if (request.url === "/boom") throw new Error("boom");
      return "hello";
    };
    app.route({ method: methods, url: "*", handler });
    for (const options of limiters) app.register(rateLimitPlugin, optionsOf(options));
    return listen(app, () => handled);
  },
});

conforms("fastify 5, as a hook before the handler", {
  byIp,
  serve(...limiters) {
    let handled = 0;
    const app = fastify({ exposeHeadRoutes: false });
    app.route({
      method: methods,
      url: "*",
      preHandler: limiters.map((options) => rateLimit(optionsOf(options))),
      handler: async (request) => {
        handled++;
        if (request.url === "/boom") throw new Error("boom");
        return "hello";
      },
    });
    return listen(app, () => handled);
  },
});

const once = () => createLimiter({ policy: fixedWindow({ limit: 1, window: "300d" }) });

test("the plugin limits its instance, its children and what is not found, and stays within them", async () => {
  const app = fastify();
  app.get("/outside", async () => "hello");
  app.register(async (scope) => {
    await scope.register(rateLimitPlugin, { limiter: once(), key: (request) => request.url });
    scope.get("/inside", async () => "hello");
    scope.register(async (child) => void child.get("/child", async () => "hello"));
  });
  const { port, close } = await listen(app, () => 0);
  const twice = async (path: string) => [(await call(port, { path })).status, (await call(port, { path })).status];
  expect(await twice("/outside")).toEqual([200, 200]);
  expect(await twice("/inside")).toEqual([200, 429]);
  expect(await twice("/child")).toEqual([200, 429]);
  await close();
});

test("with hook preHandler the body can make the key", async () => {
  const app = fastify();
  await app.register(rateLimitPlugin, {
    hook: "preHandler",
    limiter: once(),
    key: (request) => (request.body as { user: string }).user,
  });
  app.post("/", async () => "hello");
  const post = async (user: string) => (await app.inject({ method: "POST", url: "/", payload: { user } })).statusCode;
  expect([await post("a"), await post("b"), await post("a")]).toEqual([200, 200, 429]);
  await app.close();
});
