// Real clients against a real server: refused once, they wait as told, and succeed at the first retry.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Octokit } from "@octokit/core";
import { throttling } from "@octokit/plugin-throttling";
import axios from "axios";
import axiosRetry from "axios-retry";
import express from "express";
import { got } from "got";
import { Agent, RetryAgent, request as undiciRequest } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { byHeader, rateLimit } from "../../ts/http/express.ts";
import { createLimiter, tokenBucket } from "../../ts/index.ts";

const limiter = createLimiter({ policy: tokenBucket({ rate: 1, per: 1500, burst: 1 }) });
const server = createServer(
  express()
    .use(rateLimit({ limiter, key: byHeader("x-client"), headers: { styles: ["standard", "x-ratelimit"] } }))
    .use((_, response) => void response.json({ hello: "world" })),
);
/** When each client's requests came, and how they were answered. */
const seen: Record<string, { at: number; status: number }[]> = {};
server.on("request", ({ headers }, response) => {
  const at = performance.now();
  const client = headers["x-client"] as string;
  response.on("finish", () => {
    seen[client] = [...(seen[client] ?? []), { at, status: response.statusCode }];
  });
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const dispatcher = new RetryAgent(new Agent());
const withRetry = axios.create();
axiosRetry(withRetry, {
  retries: 3,
  retryDelay: axiosRetry.exponentialDelay,
  retryCondition: (error) => error.response?.status === 429,
});
const Throttled = Octokit.plugin(throttling);

type Call = (headers: Record<string, string>) => Promise<unknown>;
const CLIENTS: Record<string, Call> = {
  "undici's RetryAgent": async (headers) => (await undiciRequest(url, { headers, dispatcher })).body.json(),
  "axios with axios-retry": async (headers) => (await withRetry.get(url, { headers })).data,
  got: (headers) => got(url, { headers }).json(),
  "Octokit with its throttling": async (headers) => {
    const retry = (_: number, __: unknown, ___: unknown, count: number) => count < 3;
    const octokit = new Throttled({ baseUrl: url, throttle: { onRateLimit: retry, onSecondaryRateLimit: retry } });
    octokit.log.warn = () => {};
    return (await octokit.request("GET /", { headers })).data;
  },
};

for (const [name, send] of Object.entries(CLIENTS)) {
  test.concurrent(name, async () => {
    const client = encodeURIComponent(name);
    const headers = { "x-client": client };
    expect(await send(headers)).toEqual({ hello: "world" });
    expect(await send(headers)).toEqual({ hello: "world" });
    const requests = seen[client] ?? [];
    expect(requests.map(({ status }) => status)).toEqual([200, 429, 200]);
    // The budget is back 1.5 s after the first request, whatever a client may read from a header.
    const [first, , retried] = requests as [{ at: number }, unknown, { at: number }];
    expect(retried.at - first.at).toBeGreaterThanOrEqual(1490);
  });
}
