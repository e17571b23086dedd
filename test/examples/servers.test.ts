// Starts the example servers in their real runtimes, and is limited by them. They take the built
// package: `npm run build` comes first.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { afterAll, expect, test } from "vitest";
// @ts-expect-error plain JavaScript, shared with `npm start`
import { bundleWorker } from "../../scripts/bundle-worker.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = (name: string) => join(root, "node_modules/.bin", name);
const folder = mkdtempSync(join(tmpdir(), "sluice-examples-"));
const running = new Set<ChildProcess>();
afterAll(async () => {
  await Promise.all([...running].map(stop));
  rmSync(folder, { recursive: true });
});

const token = "a-token-for-the-examples";
const node = [process.execPath];
const bun = [bin("bun")];
const deno = [bin("deno"), "run", "--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write"];
const EXAMPLES = {
  "node/server.js": node,
  "fleet/server.js": node,
  "express/server.js": node,
  "bun/server.js": bun,
  "deno/server.js": deno,
  "hono/node.js": node,
  "hono/bun.js": bun,
  "hono/deno.js": deno,
};
type Example = keyof typeof EXAMPLES;

/** Starts an example on free ports, and gives the addresses that it prints. */
async function start(example: Example, env: Record<string, string> = {}) {
  const [command, ...args] = EXAMPLES[example] as [string, ...string[]];
  const ledger = join(folder, `${example.replace("/", "-")}.db`);
  const ports = { PORT: "0", LEDGER_PORT: "0", LEDGER_TOKEN: token, LEDGER: ledger };
  const server = spawn(command, [...args, join(root, "examples", example)], {
    env: { ...process.env, ...ports, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(server);
  let errors = "";
  server.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  for await (const line of createInterface(server.stdout)) {
    const urls = line.match(/http:\S+/g);
    if (urls) return { server, urls };
  }
  throw new Error(`examples/${example} ended without an address: ${errors}`);
}

async function stop(server: ChildProcess): Promise<void> {
  running.delete(server);
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGKILL");
  await ended;
}

async function statuses(url: string, calls: number): Promise<number[]> {
  const seen: number[] = [];
  for (let call = 0; call < calls; call++) {
    const response = await fetch(url);
    seen.push(response.status);
    if (response.status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    await response.text();
  }
  return seen;
}

for (const example of ["node/server.js", "bun/server.js", "deno/server.js"] as const) {
  test(`examples/${example} limits, and still does when it was killed and started again`, async () => {
    const first = await start(example);
    expect(await statuses(first.urls[0] as string, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await stop(first.server);
    const second = await start(example);
    expect((await statuses(second.urls[0] as string, 5)).filter((status) => status === 429).length).toBeGreaterThan(2);
    await stop(second.server);
  });
}

for (const example of ["express/server.js", "hono/node.js", "hono/bun.js", "hono/deno.js"] as const) {
  test(`examples/${example} limits, and tells its clients`, async () => {
    const { server, urls } = await start(example);
    const url = urls[0] as string;
    const { headers } = await fetch(url);
    expect(headers.get("ratelimit")).toMatch(/^"api";r=4;t=\d+;pk=:/);
    const seen = await statuses(url, 6);
    expect(seen.slice(0, 4)).toEqual([200, 200, 200, 200]);
    expect(seen).toContain(429);
    await stop(server);
  });
}

test("examples/hono limits as a Worker", async () => {
  const worker = new Miniflare({
    modules: await bundleWorker("examples/hono/app.js"),
    compatibilityDate: "2026-04-01",
  } as ConstructorParameters<typeof Miniflare>[0]);
  try {
    const from = async (ip: string) =>
      (await worker.dispatchFetch("http://localhost/", { headers: { "cf-connecting-ip": ip } })).status;
    const seen: number[] = [];
    for (let call = 0; call < 7; call++) seen.push(await from("192.0.2.1"));
    expect(seen.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(seen).toContain(429);
    expect(await from("192.0.2.2")).toBe(200);
  } finally {
    await worker.dispose();
  }
});

test("examples/fleet shares the budgets of examples/bun", async () => {
  const home = await start("bun/server.js", { LEDGER: join(folder, "shared.db") });
  const ledgers = { LEDGER_URL: home.urls[1] as string };
  const fleet = await Promise.all([0, 1].map(() => start("fleet/server.js", ledgers)));
  const urls = [home, ...fleet].map(({ urls }) => urls[0] as string);
  const seen = (await Promise.all([...urls, ...urls].map((url) => statuses(url, 2)))).flat();
  expect(seen.filter((status) => status === 200).length).toBe(5);
  expect(seen.filter((status) => status === 429).length).toBe(7);
});
