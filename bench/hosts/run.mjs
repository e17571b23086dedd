// Decisions per second and their latency on each host, in its real runtime, and what a limiter
// adds to an HTTP request there. Every way in turn, several rounds; medians.
//   npm run bench:hosts [-- --quick]
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 3 : 5;
const ROUND_MS = quick ? 400 : 2000;

const RUNTIMES = {
  node: [process.execPath],
  bun: [`${root}node_modules/.bin/bun`],
  deno: [`${root}node_modules/.bin/deno`, "run", "--allow-all", "--unstable-kv"],
};

/** Runs the guest in a runtime, and gives the rows that it prints. */
async function measure(runtime, folder) {
  const [command, ...args] = RUNTIMES[runtime];
  const guest = spawn(
    command,
    [...args, `${root}bench/hosts/guest.mjs`, runtime, folder, ROUNDS, ROUND_MS].map(String),
    {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NO_COLOR: "1" },
    },
  );
  const ended = new Promise((resolve) => guest.once("close", resolve));
  const lines = [];
  for await (const line of createInterface(guest.stdout)) lines.push(line);
  const code = await ended;
  if (code !== 0) throw new Error(`${runtime} ended with ${code}`);
  return lines;
}

console.log(`${cpus().length} × ${cpus()[0]?.model.trim()}, ${ROUNDS} rounds of ${ROUND_MS} ms each, medians`);
const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
try {
  for (const runtime of Object.keys(RUNTIMES)) console.log((await measure(runtime, folder)).join("\n"));
} finally {
  await rm(folder, { recursive: true, force: true });
}
