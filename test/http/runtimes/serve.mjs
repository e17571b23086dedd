// A limited server in whatever runtime runs this file. Prints its port.
//   serve.mjs plain|hono
import { Hono } from "hono";
import { createLimiter, fixedWindow } from "sluice";
import * as honoEntry from "sluice/hono";
import * as httpEntry from "sluice/http";

const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 2, window: "300d" }) });
const { byIp } = httpEntry;

function plain() {
  const direct = httpEntry.rateLimit({ limiter, key: byIp() }, () => new Response("hello"));
  const proxied = httpEntry.rateLimit({ limiter, key: byIp({ trust: 1 }) }, () => new Response("hello"));
  return (request, beside) => (request.url.endsWith("/proxied") ? proxied : direct)(request, beside);
}

function hono() {
  const app = new Hono();
  app.use("/", honoEntry.rateLimit({ limiter, key: byIp() }));
  app.use("/proxied", honoEntry.rateLimit({ limiter, key: byIp({ trust: 1 }) }));
  app.all("*", (context) => context.text("hello"));
  return app.fetch;
}

const fetch = (globalThis.Deno?.args ?? process.argv.slice(2))[0] === "hono" ? hono() : plain();
if (globalThis.Bun) {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
  console.log(`port ${server.port}`);
} else {
  Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(`port ${port}`) }, fetch);
}
