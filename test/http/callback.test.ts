// What frameworks of Node's kind see of a middleware: when it calls next, and with what.
import { expect, test } from "vitest";
import type { Key } from "../../ts/contract.ts";
import { type NodeResponse, rateLimit } from "../../ts/http/express.ts";
import { createLimiter, fixedWindow } from "../../ts/index.ts";
import { fixedLimiter } from "./support.ts";

const request = { method: "GET", headers: {} };

function responseOf() {
  const headers = new Map<string, string>();
  const response: NodeResponse & { body?: string | undefined } = {
    statusCode: 200,
    headersSent: false,
    writableEnded: false,
    setHeader: (name, value) => headers.set(name, value),
    getHeader: (name) => headers.get(name),
    end(body) {
      this.body = body;
    },
  };
  return response;
}

/** Calls the middleware once, and keeps what it hands to next. */
function call(options: Pick<Parameters<typeof rateLimit>[0], "limiter" | "key">) {
  const nexts: unknown[][] = [];
  const response = responseOf();
  rateLimit<typeof request, NodeResponse>(options as never)(request, response, (...args) => nexts.push(args));
  return { nexts, response };
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const once = () => createLimiter({ policy: fixedWindow({ limit: 1, window: "300d" }) });

test("what a local limiter admits goes on at once, without a promise", () => {
  expect(call({ limiter: once(), key: () => "k" }).nexts).toEqual([[]]);
});

test("what has to be waited for goes on later, once", async () => {
  for (const options of [
    { limiter: once(), key: async () => "k" },
    { limiter: fixedLimiter({ success: true }), key: () => "k" },
  ]) {
    const { nexts } = call(options);
    expect(nexts).toEqual([]);
    await settled();
    expect(nexts).toEqual([[]]);
  }
});

test("a refusal never goes on", async () => {
  const limiter = once();
  expect(limiter.allow("k")).toBe(true);
  const { nexts, response } = call({ limiter, key: () => "k" });
  await settled();
  expect(nexts).toEqual([]);
  expect(response.statusCode).toBe(429);
});

test("an error is passed on once, an empty one too, and never lets a request through", async () => {
  const broken = (thrown: unknown) => (): Key => {
    throw thrown;
  };
  const boom = new Error("boom");
  for (const [thrown, passed] of [
    [boom, boom],
    [undefined, expect.any(Error)],
    [null, expect.any(Error)],
    ["", expect.any(Error)],
  ]) {
    const now = call({ limiter: once(), key: broken(thrown) });
    const later = call({ limiter: once(), key: async () => broken(thrown)() });
    await settled();
    expect([now.nexts, later.nexts]).toEqual([[[passed]], [[passed]]]);
  }
});

test("what next throws is not taken for the limiter's failure", () => {
  let called = 0;
  const go = () => {
    called++;
    throw new Error("from the handler");
  };
  const middleware = rateLimit<typeof request, NodeResponse>({ limiter: once(), key: () => "k" });
  expect(() => middleware(request, responseOf(), go)).toThrow("from the handler");
  expect(called).toBe(1);
});
