// Starts the example servers in their real runtimes, and is limited by them. They take the built
// package: `npm run build` comes first.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = (name: string) => join(root, "node_modules/.bin", name);
const folder = mkdtempSync(join(tmpdir(), "sluice-examples-"));
const running = new Set<ChildProcess>();
afterAll(async () => {
  await Promise.all([...running].map(stop));
  rmSync(folder, { recursive: true });
});

const token = "a-token-for-the-examples";
const allowed = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write"];
const COMMANDS = {
  node: [process.execPath],
  fleet: [process.execPath],
  bun: [bin("bun")],
  deno: [bin("deno"), "run", ...allowed],
};
type Example = keyof typeof COMMANDS;

/** Starts an example on free ports, and gives the addresses that it prints. */
async function start(example: Example, env: Record<string, string> = {}) {
  const [command, ...args] = COMMANDS[example] as [string, ...string[]];
  const ports = { PORT: "0", LEDGER_PORT: "0", LEDGER_TOKEN: token, LEDGER: join(folder, `${example}.db`) };
  const server = spawn(command, [...args, join(root, "examples", example, "server.js")], {
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

for (const example of ["node", "bun", "deno"] as const) {
  test(`examples/${example} limits, and still does when it was killed and started again`, async () => {
    const first = await start(example);
    expect(await statuses(first.urls[0] as string, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await stop(first.server);
    const second = await start(example);
    expect((await statuses(second.urls[0] as string, 5)).filter((status) => status === 429).length).toBeGreaterThan(2);
    await stop(second.server);
  });
}

test("examples/fleet shares the budgets of examples/bun", async () => {
  const home = await start("bun", { LEDGER: join(folder, "shared.db") });
  const fleet = await Promise.all([0, 1].map(() => start("fleet", { LEDGER_URL: home.urls[1] as string })));
  const urls = [home, ...fleet].map(({ urls }) => urls[0] as string);
  const seen = (await Promise.all([...urls, ...urls].map((url) => statuses(url, 2)))).flat();
  expect(seen.filter((status) => status === 200).length).toBe(5);
  expect(seen.filter((status) => status === 429).length).toBe(7);
});
