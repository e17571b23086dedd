// What clients that mean harm send, against a real server on real sockets.
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import express from "express";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byHeader, byIp, compound, rateLimit } from "../../ts/http/express.ts";
import { rateLimit as fetchLimit } from "../../ts/http/fetch.ts";
import { createLimiter, fixedWindow } from "../../ts/index.ts";
import { call } from "./conformance.ts";
import { fixedLimiter, itemsOf } from "./support.ts";

const LIMIT = 3;
const limiter = (name: string) => createLimiter({ name, policy: fixedWindow({ limit: LIMIT, window: "300d" }) });

const crashes: unknown[] = [];
const app = express()
  .use("/direct", rateLimit({ limiter: limiter("direct"), key: byIp() }))
  .use("/proxied", rateLimit({ limiter: limiter("proxied"), key: byIp({ trust: ["127.0.0.1"] }) }))
  .use("/keyed", rateLimit({ limiter: limiter("keyed"), key: byHeader("x-api-key", { missing: byIp() }) }))
  .use(
    "/both",
    rateLimit({ limiter: limiter("both"), key: compound(byIp(), (request: express.Request) => request.originalUrl) }),
  )
  .use((_, response) => void response.send("hello"));
app.use(((error, _request, response, _next) => {
  crashes.push(error);
  response.status(500).end();
}) as express.ErrorRequestHandler);

let server: Server;
let port = 0;
beforeAll(async () => {
  server = createServer({ headersTimeout: 60_000 }, app);
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends bytes as they are from a loopback address of one's own; resolves to all that came back. */
function raw(bytes: string, localAddress = "127.0.0.1"): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    let answer = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("error", reject).on("close", () => resolve(answer));
    socket.end(Buffer.from(bytes, "latin1"));
  });
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
const get = (path: string, headers: string[] = []) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`;

/** Any bytes that a header's value may have, and some that it may not. */
const bytes = fc.string({
  unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 80,
});
const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom("127.0.0.1", "::1", "[::1]:1", "1.2.3.4:5", "unknown", "01.1.1.1"),
);
const forged = fc.array(
  fc.tuple(
    fc.constantFrom(
      "X-Forwarded-For",
      "x-forwarded-for",
      "CF-Connecting-IP",
      "X-Real-IP",
      "Forwarded",
      "X-Client-IP",
      "Via",
    ),
    fc.array(address, { minLength: 1, maxLength: 4 }).map((list) => list.join(", ")),
  ),
  { maxLength: 4 },
);

/** The next of the loopback network's addresses: each is a client that nobody was before. */
let clients = 1;
function newClient(): string {
  clients++;
  return `127.${1 + (clients >> 16)}.${(clients >> 8) & 255}.${clients & 255}`;
}

describe("nobody gets another's budget", () => {
  test("whatever they write into any header, in any order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), forged), { minLength: 5, maxLength: 12 }), async (requests) => {
        const three = [newClient(), newClient(), newClient()];
        const sent = [0, 0, 0];
        for (const [who, headers] of requests) {
          const answer = await raw(
            get(
              "/direct",
              headers.map(([name, value]) => `${name}: ${value}`),
            ),
            three[who],
          );
          sent[who] = (sent[who] as number) + 1;
          expect(statusOf(answer)).toBe((sent[who] as number) <= LIMIT ? 200 : 429);
        }
      }),
      { numRuns: 40 },
    );
  });

  test("also behind a trusted proxy, which appends where they come from", async () => {
    let client = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(forged, { minLength: LIMIT + 1, maxLength: LIMIT + 1 }), async (requests) => {
        const from = `203.0.${++client >> 8}.${client & 255}`;
        const statuses = [];
        for (const headers of requests) {
          const lines = [...headers.map(([name, value]) => `${name}: ${value}`), `X-Forwarded-For: ${from}`];
          statuses.push(statusOf(await raw(get("/proxied", lines))));
        }
        expect(statuses).toEqual([200, 200, 200, 429]);
      }),
      { numRuns: 40 },
    );
  });
});

describe("nothing breaks", () => {
  test("on any bytes in keys and paths: an answer comes, and its headers are its own", async () => {
    await fc.assert(
      fc.asyncProperty(bytes, bytes, bytes, async (apiKey, forwarded, path) => {
        const target = `/keyed/${encodeURIComponent(path.replace(/[\ud800-\udfff]/g, ""))}`;
        const before = crashes.length;
        for (const url of [target, "/proxied", `/both?${path.replace(/[^!-~]/g, "")}`]) {
          const answer = await raw(get(url, [`X-Api-Key: ${apiKey}`, `X-Forwarded-For: ${forwarded}`]));
          // 400: Node's own parser; 500: a proxy that names no address, which is an error by default.
          expect([200, 400, 429, 500]).toContain(statusOf(answer));
          for (const line of answer.split("\r\n\r\n")[0]?.split("\r\n").slice(1) ?? []) {
            expect(line).toMatch(
              /^(X-Powered-By|RateLimit|RateLimit-Policy|Retry-After|Content-|Cache-Control|ETag|Date|Connection|Keep-Alive)/i,
            );
          }
        }
        for (const crash of crashes.slice(before)) expect(String(crash)).toMatch(/byIp found no address|URI/);
      }),
      { numRuns: 150 },
    );
  });

  test("on a header as large as the server takes, and none of it is in the answer or the key", async () => {
    const huge = "k".repeat(12_000);
    const { status, headers } = await call(port, { path: "/keyed", headers: ["X-Api-Key", huge] });
    expect(status).toBe(200);
    expect([...headers].join("\n")).not.toContain("kkkk");
    expect(statusOf(await raw(get("/keyed", [`X-Api-Key: ${"k".repeat(40_000)}`])))).toBe(431);
  });

  test("on clients that never finish their request: the others are served, and nothing is counted", async () => {
    const slow = newClient();
    const sockets: Socket[] = [];
    for (let nth = 0; nth < 200; nth++) {
      const socket = connect({ host: "127.0.0.1", port, localAddress: slow });
      socket.on("error", () => {}).write("GET /direct HTTP/1.1\r\nHost: a\r\nX-Slow: ");
      sockets.push(socket);
    }
    expect(statusOf(await raw(get("/direct"), newClient()))).toBe(200);
    const own = await raw(get("/direct"), slow);
    expect(statusOf(own)).toBe(200);
    expect(itemsOf(/^RateLimit: (.*)$/im.exec(own)?.[1]?.trim() ?? "")[0]?.params.r).toBe(LIMIT - 1);
    for (const socket of sockets) socket.destroy();
  });

  test("on clients that hang up before their answer", async () => {
    const client = newClient();
    for (let nth = 0; nth < 50; nth++) {
      await new Promise<void>((resolve) => {
        const request = httpRequest({ host: "127.0.0.1", port, path: "/direct", localAddress: client, agent: false });
        request
          .on("error", () => {})
          .on("close", resolve)
          .end(() => setImmediate(() => request.destroy()));
      });
    }
    expect([200, 429]).toContain(statusOf(await raw(get("/direct"), client)));
    expect(statusOf(await raw(get("/direct"), newClient()))).toBe(200);
  });
});

test("a million keys leave nothing behind in the middleware", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const request = new Request("http://localhost/");
  let key = 0;
  const handler = fetchLimit({ limiter: fixedLimiter({}), key: () => `key ${key++}` }, () => new Response());
  const run = async (count: number) => {
    for (let nth = 0; nth < count; nth++) await handler(request);
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = await run(20_000);
  const after = await run(1_000_000 - 20_000);
  expect(after - before).toBeLessThan(4 * 2 ** 20);
}, 300_000);
