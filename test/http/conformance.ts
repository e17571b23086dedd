// What every adapter does, on its real framework and over real sockets. An adapter's test says
// how to start a server, and calls `conforms`.
import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { Decision, Limiter } from "../../ts/contract.ts";
import type { HeaderOptions, KeyOf } from "../../ts/http/fetch.ts";
import { createLimiter, fixedWindow, tokenBucket } from "../../ts/index.ts";
import { fixedLimiter, itemsOf } from "./support.ts";

/** The options that need no framework's types. */
export interface PlainOptions {
  limiter: Limiter;
  // biome-ignore lint/suspicious/noExplicitAny: a source of any framework
  key: KeyOf<any>;
  cost?: number | (() => number | Promise<number>);
  skip?: () => boolean | Promise<boolean>;
  headers?: HeaderOptions | false;
  shadow?: boolean;
  preflight?: "pass" | "limit";
  /** Called with the decision; the adapter's test answers 418 with "own" where it returns true. */
  onLimit?: (decision: Decision) => boolean;
}

export interface Running {
  port: number;
  /** How often the handler behind the limiter was called. */
  handled(): number;
  close(): Promise<unknown>;
}

export interface Adapter {
  /** Serves "hello" behind the limiters, in their order, on every path and method; "/boom" throws. */
  serve(...limiters: PlainOptions[]): Promise<Running>;
  // biome-ignore lint/suspicious/noExplicitAny: a source of any framework
  byIp(options?: any): KeyOf<any>;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

/** One request on a connection of its own; `headers` as a flat list may name one twice. */
export function call(
  port: number,
  options: { method?: string; path?: string; headers?: string[] } = {},
): Promise<Answer> {
  const { method = "GET", path = "/", headers = [] } = options;
  return new Promise((resolve, reject) => {
    const flat = ["Host", "localhost", "Connection", "close", ...headers];
    const request = httpRequest(
      { host: "127.0.0.1", port, method, path, headers: flat, agent: false, timeout: 10_000 },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const got = new Headers();
          for (let at = 0; at < response.rawHeaders.length; at += 2) {
            got.append(response.rawHeaders[at] as string, response.rawHeaders[at + 1] as string);
          }
          resolve({ status: response.statusCode as number, headers: got, body: Buffer.concat(chunks).toString() });
        });
      },
    );
    request
      .on("error", reject)
      .on("timeout", () => request.destroy(new Error("no answer within 10 s")))
      .end();
  });
}

/** Two in a window so long that none ends while a test runs. */
const twoOnly = () => createLimiter({ name: "api", policy: fixedWindow({ limit: 2, window: "300d" }) });
const PREFLIGHT = ["Origin", "https://example.org", "Access-Control-Request-Method", "POST"];

export function conforms(name: string, adapter: Adapter): void {
  let running: Running | undefined;
  const serve = async (...limiters: PlainOptions[]) => {
    running = await adapter.serve(...limiters);
    return running;
  };
  afterEach(async () => {
    await running?.close();
    running = undefined;
  });

  describe(`${name}`, () => {
    test("admits what the limit allows and says what is left, then answers with a problem", async () => {
      const { port, handled } = await serve({ limiter: twoOnly(), key: adapter.byIp() });
      const [first, second, third] = [await call(port), await call(port), await call(port)];
      expect([first.status, second.status, third.status]).toEqual([200, 200, 429]);
      expect(first.body).toBe("hello");
      expect(handled()).toBe(2);
      const told = [first, second, third].map(({ headers }) => itemsOf(headers.get("ratelimit")));
      expect(told.map((items) => items.map(({ name, params }) => [name, params.r]))).toEqual([
        [["api", 1]],
        [["api", 0]],
        [["api", 0]],
      ]);
      expect(itemsOf(third.headers.get("ratelimit-policy"))[0]?.params).toMatchObject({ q: 2, w: 25_920_000 });
      expect(told[0]?.[0]?.params.pk).toMatch(/^[0-9a-f]{24}$/);
      expect(third.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      expect(third.headers.get("cache-control")).toBe("no-store");
      const retryAfter = Number(third.headers.get("retry-after"));
      expect(retryAfter).toBeGreaterThanOrEqual(told[2]?.[0]?.params.t as number);
      expect(JSON.parse(third.body)).toEqual({
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota Exceeded",
        status: 429,
        detail: `Retry in ${retryAfter} s.`,
        "violated-policies": ["api"],
      });
      expect(first.headers.has("retry-after")).toBe(false);
      expect(first.headers.get("cache-control")).toBeNull();
    });

    test("takes the address of the connection, and of nothing that a client can write", async () => {
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp() });
      const statuses = [];
      for (const ip of ["198.51.100.1", "198.51.100.2", "198.51.100.3"]) {
        const names = ["X-Forwarded-For", "CF-Connecting-IP", "True-Client-IP", "X-Real-IP", "Forwarded"];
        statuses.push((await call(port, { headers: names.flatMap((name) => [name, ip]) })).status);
      }
      expect(statuses).toEqual([200, 200, 429]);
    });

    test("behind a trusted proxy takes the address that it appended, also over two headers", async () => {
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp({ trust: ["loopback"] }) });
      const from = async (...headers: string[]) => (await call(port, { headers })).status;
      expect(await from("X-Forwarded-For", "203.0.113.1")).toBe(200);
      expect(await from("X-Forwarded-For", "198.51.100.9, 203.0.113.1")).toBe(200);
      expect(await from("X-Forwarded-For", "198.51.100.9", "X-Forwarded-For", "203.0.113.1:8080")).toBe(429);
      expect(await from("X-Forwarded-For", "203.0.113.1", "X-Forwarded-For", "198.51.100.9")).toBe(200);
    });

    test("a refused HEAD has the headers of a refused GET and no body", async () => {
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp() });
      for (let sent = 0; sent < 2; sent++) expect((await call(port, { method: "HEAD" })).status).toBe(200);
      const head = await call(port, { method: "HEAD" });
      expect([head.status, head.body]).toEqual([429, ""]);
      expect(head.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      expect(Number(head.headers.get("retry-after"))).toBeGreaterThan(0);
    });

    test("preflights pass uncounted unless they are to be limited; any other OPTIONS is counted", async () => {
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp() });
      for (let sent = 0; sent < 5; sent++) {
        expect((await call(port, { method: "OPTIONS", headers: PREFLIGHT })).status).toBe(200);
      }
      const plain = [1, 2, 3].map(() => call(port, { method: "OPTIONS", headers: ["Origin", "https://example.org"] }));
      expect((await Promise.all(plain)).map(({ status }) => status).sort()).toEqual([200, 200, 429]);
      await running?.close();
      const strict = await serve({ limiter: twoOnly(), key: adapter.byIp(), preflight: "limit" });
      const limited = [1, 2, 3].map(() => call(strict.port, { method: "OPTIONS", headers: PREFLIGHT }));
      expect((await Promise.all(limited)).map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    });

    test("takes the cost that it is told; one above the capacity is told never to retry", async () => {
      const limiter = createLimiter({ name: "api", policy: tokenBucket({ rate: 10, per: "1h" }) });
      const costs = [7, 3, 11];
      const { port, handled } = await serve({ limiter, key: () => "k", cost: async () => costs.shift() ?? 0 });
      const [seven, three, eleven] = [await call(port), await call(port), await call(port)];
      expect([seven, three].map(({ headers }) => itemsOf(headers.get("ratelimit"))[0]?.params.r)).toEqual([3, 0]);
      expect(eleven.status).toBe(429);
      expect(eleven.headers.has("retry-after")).toBe(false);
      expect(JSON.parse(eleven.body).detail).toMatch(/cannot succeed/);
      // A cost of 0 is a mistake of the server's.
      expect((await call(port)).status).toBe(500);
      expect(handled()).toBe(2);
    });

    test("answers 503 where no ledger could be asked and the limiter fails closed", async () => {
      const limiter = fixedLimiter({ reason: "unreachable", source: "fallback", retryAfterMs: 1200 });
      const { port } = await serve({ limiter, key: adapter.byIp() });
      const { status, headers, body } = await call(port);
      expect([status, headers.get("retry-after"), headers.get("ratelimit")]).toEqual([503, "2", null]);
      expect(JSON.parse(body).type).toBe("https://iana.org/assignments/http-problem-types#temporary-reduced-capacity");
    });

    test("skips what it is told to, and what has no key by choice; a key that fails is the server's error", async () => {
      let skips = true;
      const skipping = await serve({ limiter: twoOnly(), key: adapter.byIp(), skip: async () => skips });
      for (let sent = 0; sent < 3; sent++) expect((await call(skipping.port)).headers.has("ratelimit")).toBe(false);
      skips = false;
      expect((await call(skipping.port)).headers.has("ratelimit")).toBe(true);
      await skipping.close();
      const keyless = await serve({ limiter: twoOnly(), key: () => null });
      for (let sent = 0; sent < 3; sent++) expect((await call(keyless.port)).status).toBe(200);
      await keyless.close();
      const missing = await serve({ limiter: twoOnly(), key: adapter.byIp({ trust: { header: "x-client" } }) });
      const { status, body } = await call(missing.port);
      expect([status, missing.handled()]).toEqual([500, 0]);
      expect(body).not.toBe("hello");
    });

    test("shadow refuses nobody, and tells only the server", async () => {
      const told: Decision[] = [];
      const onLimit = (decision: Decision) => told.push(decision) > 0;
      const { port, handled } = await serve({ limiter: twoOnly(), key: adapter.byIp(), shadow: true, onLimit });
      for (let sent = 0; sent < 4; sent++) {
        const { status, headers } = await call(port);
        expect([status, headers.has("ratelimit"), headers.has("ratelimit-policy")]).toEqual([200, false, false]);
      }
      expect(handled()).toBe(4);
      expect(told.map(({ success, reason, remaining }) => [success, reason, remaining])).toEqual([
        [true, "shadow", 0],
        [true, "shadow", 0],
      ]);
    });

    test("an answer of the user's own takes the problem's place and keeps the headers", async () => {
      const told: Decision[] = [];
      const onLimit = (decision: Decision) => told.push(decision) > 1;
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp(), onLimit });
      const [, , problem, own] = [await call(port), await call(port), await call(port), await call(port)];
      expect(problem.status).toBe(429);
      expect([own.status, own.body]).toEqual([418, "own"]);
      expect(own.headers.get("content-type") ?? "").not.toMatch(/problem/);
      expect(own.headers.get("cache-control")).toBe("no-store");
      expect(Number(own.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(told.map(({ reason }) => reason)).toEqual(["limited", "limited"]);
    });

    test("headers can be exposed to other origins, or left out; Retry-After stays", async () => {
      const exposing = await serve({ limiter: twoOnly(), key: adapter.byIp(), headers: { expose: true } });
      const exposed = (await call(exposing.port)).headers.get("access-control-expose-headers");
      expect(exposed).toBe("RateLimit-Policy, RateLimit, Retry-After");
      await exposing.close();
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp(), headers: false });
      const answers = [await call(port), await call(port), await call(port)];
      expect(answers.some(({ headers }) => headers.has("ratelimit") || headers.has("ratelimit-policy"))).toBe(false);
      expect(Number(answers[2]?.headers.get("retry-after"))).toBeGreaterThan(0);
    });

    test("two limiters one behind the other are both told; a refusal tells of its own", async () => {
      const outer = createLimiter({ name: "outer", policy: fixedWindow({ limit: 5, window: "300d" }) });
      const inner = createLimiter({ name: "inner", policy: tokenBucket({ rate: 1, per: "1m", burst: 1 }) });
      const { port } = await serve({ limiter: outer, key: () => "o" }, { limiter: inner, key: () => "i" });
      const both = await call(port);
      const remaining = itemsOf(both.headers.get("ratelimit")).map(({ name, params }) => `${name} ${params.r}`);
      expect(remaining.sort()).toEqual(["inner 0", "outer 4"]);
      const refused = await call(port);
      expect(refused.status).toBe(429);
      const retryAfter = Number(refused.headers.get("retry-after"));
      expect(retryAfter).toBeLessThanOrEqual(60);
      for (const { params } of itemsOf(refused.headers.get("ratelimit"))) {
        expect(params.t).toBeLessThanOrEqual(retryAfter);
      }
    });

    test("an error of the handler is the handler's", async () => {
      const { port } = await serve({ limiter: twoOnly(), key: adapter.byIp() });
      expect((await call(port, { path: "/boom" })).status).toBe(500);
      expect((await call(port)).status).toBe(200);
      expect((await call(port)).status).toBe(429);
    });
  });
}
