// The stores under the packages that they are for, beside those packages' own stores in memory.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { rateLimit as expressRateLimit, MemoryStore, type Options, type Store } from "express-rate-limit";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { afterEach, describe, expect, expectTypeOf, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { type LimiterStore, limiterStore } from "../../ts/http/stores.ts";
import { exact } from "../../ts/index.ts";
import { call } from "./conformance.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Long, so that none ends while a test runs. */
const WINDOW = 20 * 86_400_000;

/** Express with the package's middleware; answers 200, or the status in ?status=. */
async function serve(options: Partial<Options>): Promise<number> {
  const app = express();
  app.use(expressRateLimit({ windowMs: WINDOW, legacyHeaders: false, standardHeaders: "draft-6", ...options }));
  app.use((request, response) => void response.status(Number(request.query.status ?? 200)).send("hello"));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

const statuses = async (port: number, paths: string[]) => {
  const seen: [number, string | null][] = [];
  for (const path of paths) {
    const { status, headers } = await call(port, { path });
    seen.push([status, headers.get("ratelimit-remaining")]);
  }
  return seen;
};

const STORES: [name: string, make: () => Store][] = [
  ["the package's own", () => new MemoryStore()],
  ["limiterStore in this process", () => limiterStore()],
  [
    "limiterStore at ledgers",
    () => {
      const link = embedded();
      cleanups.push(() => link.close());
      return limiterStore({ design: exact(), link, onUnreachable: "deny" });
    },
  ],
];

describe.each(STORES)("express-rate-limit with %s", (_, make) => {
  test("counts up to the limit and refuses beyond it", async () => {
    const port = await serve({ limit: 3, store: make() });
    expect(await statuses(port, ["/", "/", "/", "/", "/"])).toEqual([
      [200, "2"],
      [200, "1"],
      [200, "0"],
      [429, "0"],
      [429, "0"],
    ]);
  });

  test("takes failed requests back, refused ones too", async () => {
    const port = await serve({ limit: 2, store: make(), skipFailedRequests: true });
    const paths = ["/?status=500", "/", "/?status=404", "/", "/", "/", "/"];
    expect((await statuses(port, paths)).map(([status]) => status)).toEqual([500, 200, 404, 200, 429, 429, 429]);
  });

  test("tells hits by key, and forgets a key", async () => {
    const store = make();
    const app = expressRateLimit({ windowMs: WINDOW, limit: 2, store });
    expect(await app.getKey("a")).toBeUndefined();
    for (let hits = 1; hits <= 4; hits++) {
      const { totalHits, resetTime } = await store.increment("a");
      expect(totalHits).toBe(hits);
      expect((resetTime as Date).getTime() - Date.now()).toBeGreaterThan(0);
      expect((resetTime as Date).getTime() - Date.now()).toBeLessThanOrEqual(WINDOW);
    }
    expect((await app.getKey("a"))?.totalHits).toBe(4);
    await store.decrement("a");
    expect((await app.getKey("a"))?.totalHits).toBe(3);
    await store.increment("b");
    await store.resetKey("a");
    expect(await app.getKey("a")).toBeUndefined();
    expect((await app.getKey("b"))?.totalHits).toBe(1);
    await store.decrement("never");
    expect((await store.increment("never")).totalHits).toBe(1);
    await store.shutdown?.();
  });
});

test("several servers with the same ledgers count together, exactly", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-stores-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const link = embedded({ path: join(folder, "hits.db") });
  cleanups.push(() => link.close());
  const ports: number[] = [];
  for (let nth = 0; nth < 3; nth++) {
    ports.push(await serve({ limit: 50, store: limiterStore({ design: exact(), link, onUnreachable: "deny" }) }));
  }
  const answers = await Promise.all(Array.from({ length: 90 }, (_, nth) => call(ports[nth % 3] as number)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
});

test("hono-rate-limiter counts and refuses with it", async () => {
  const app = new Hono();
  const store = limiterStore();
  app.use(rateLimiter({ windowMs: WINDOW, limit: 2, keyGenerator: () => "k", store, standardHeaders: "draft-6" }));
  app.get("/", (context) => context.text("hello"));
  const answers = [await app.request("/"), await app.request("/"), await app.request("/")];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers.map(({ headers }) => headers.get("ratelimit-remaining"))).toEqual(["1", "0", "0"]);
  await store.resetKey("k");
  expect((await app.request("/")).status).toBe(200);
});

test("a new window starts at nothing", async () => {
  let now = 100 * WINDOW;
  const store = limiterStore({ clock: { now: () => now } });
  store.init({ windowMs: WINDOW });
  await store.increment("k");
  now += WINDOW - 1;
  expect((await store.increment("k")).totalHits).toBe(2);
  now += 1;
  expect((await store.increment("k")).totalHits).toBe(1);
});

test("without a ledger, a hit is the first or one too many, as was chosen", async () => {
  const link = { ...embedded(), ask: () => Promise.reject(new Error("cut")) };
  for (const [onUnreachable, hits] of [
    ["allow", 1],
    ["deny", 2 ** 40],
  ] as const) {
    const store = limiterStore({ design: exact(), link, onUnreachable, deadline: 20 });
    store.init({ windowMs: WINDOW });
    expect((await store.increment("k")).totalHits).toBe(hits);
    await store.shutdown();
  }
});

test("fits both packages' types, and says what it was not told", async () => {
  expectTypeOf<LimiterStore>().toExtend<Store>();
  expect(() => limiterStore({ window: 5 } as object)).toThrow(/no option "window"/);
  await expect(limiterStore().increment("k")).rejects.toThrow(/before its package called init/);
  expect(() => limiterStore({ design: exact() }).init({ windowMs: 1000 })).toThrow(RangeError);
  expect([limiterStore().localKeys, limiterStore({ design: exact() }).localKeys]).toEqual([true, false]);
});
