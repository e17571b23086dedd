// The built package in the real runtimes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
// @ts-expect-error plain JavaScript, shared with `npm start`
import { bundleWorker } from "../../scripts/bundle-worker.mjs";
import { call } from "./conformance.ts";
import { itemsOf } from "./support.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const script = "test/http/runtimes/serve.mjs";
const deno = [
  "run",
  "--allow-net=127.0.0.1",
  "--allow-read",
  "--allow-env",
  "--no-prompt",
  "--node-modules-dir=manual",
  "--quiet",
];
const RUNTIMES: [name: string, command: string, args: string[]][] = [
  ["Bun", `${root}node_modules/.bin/bun`, []],
  ["Deno", `${root}node_modules/.bin/deno`, deno],
];

for (const [name, command, args] of RUNTIMES) {
  describe.each(["plain", "hono"])(`${name}, %s`, (kind) => {
    let server: ChildProcess | undefined;
    afterEach(async () => {
      if (!server) return;
      const exited = once(server, "exit");
      server.kill("SIGKILL");
      await exited;
    });

    test("limits by the socket's address, and by a proxy's word only where it is trusted", async () => {
      server = spawn(command, [...args, script, kind], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
      const [line] = await once(createInterface(server.stdout as NodeJS.ReadableStream), "line");
      const port = Number(/^port (\d+)$/.exec(line)?.[1]);
      const answers = [];
      for (const ip of ["198.51.100.1", "198.51.100.2", "198.51.100.3"]) {
        answers.push(await call(port, { headers: ["X-Forwarded-For", ip, "CF-Connecting-IP", ip] }));
      }
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers.map(({ headers }) => itemsOf(headers.get("ratelimit"))[0]?.params.r)).toEqual([1, 0, 0]);
      const [, , refused] = answers;
      expect(refused?.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(refused?.body ?? "").status).toBe(429);
      const head = await call(port, { method: "HEAD" });
      expect([head.status, head.body]).toEqual([429, ""]);
      const proxied = async (forwarded: string) =>
        (await call(port, { path: "/proxied", headers: ["X-Forwarded-For", forwarded] })).status;
      expect([
        await proxied("203.0.113.1"),
        await proxied("8.8.8.8, 203.0.113.1"),
        await proxied("203.0.113.1"),
      ]).toEqual([200, 200, 429]);
    });
  });
}

describe("Workers", () => {
  let worker: Miniflare;
  beforeAll(async () => {
    worker = new Miniflare({
      modules: await bundleWorker("test/http/runtimes/worker.ts"),
      compatibilityDate: "2026-04-01",
      durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
    } as ConstructorParameters<typeof Miniflare>[0]);
    await worker.ready;
  });
  afterAll(() => worker.dispose());

  const from = (ip: string | undefined, path = "/") =>
    worker.dispatchFetch(`http://localhost${path}`, {
      headers: ip ? { "cf-connecting-ip": ip } : {},
      redirect: "manual",
    });

  test("limits by the address that Cloudflare has seen, at a ledger in a Durable Object", async () => {
    const answers = [
      await from("192.0.2.1"),
      await from("192.0.2.1"),
      await from("192.0.2.1"),
      await from("192.0.2.2"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
    expect(answers.map(({ headers }) => itemsOf(headers.get("ratelimit"))[0]?.params.r)).toEqual([1, 0, 0, 1]);
    expect(await answers[2]?.json()).toMatchObject({ status: 429, "violated-policies": ["api"] });
  });

  test("adds its headers to an answer whose headers can't be changed", async () => {
    const { status, headers } = await from("192.0.2.3", "/redirect");
    expect([status, headers.get("location")]).toEqual([302, "http://localhost/"]);
    expect(itemsOf(headers.get("ratelimit"))[0]?.params.r).toBe(1);
  });

  test("an error is of the class that the Worker imports", async () => {
    const answer = await from("192.0.2.4", "/keyed");
    expect([answer.status, await answer.text()]).toEqual([500, "LimiterError unsupported"]);
  });
});
