// npm run bench [-- --quick] [-- --runtimes node,node24,bun,deno,workerd]
//
// Runs the suite in each runtime and writes RESULTS.md. --quick: in this Node alone, fewer sizes,
// under a minute, and prints without writing. Node 24 is the npm package node@24, by npx.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { report } from "./report.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = `${root}build/bench/`;
const { values } = parseArgs({ options: { quick: { type: "boolean" }, runtimes: { type: "string" } } });

const QUICK = { sizes: [1e3, 1e5], samples: 40, inserts: 500_000 };
const FULL = { sizes: [1, 1e3, 1e5, 1e6, 5e6], samples: 80, inserts: 5_000_000 };
// Where memory or the clock is tighter.
const SMALLER = { sizes: [1, 1e3, 1e5, 1e6], samples: 48, inserts: 0 };

const V8 = ["--expose-gc", "--max-old-space-size=12000"];
const runtimes = {
  node: { options: FULL, run: (options) => program(process.execPath, [...V8, `${out}main.js`], "node", options) },
  node24: {
    options: FULL,
    run: async (options) => program(await node24(), [...V8, `${out}main.js`], "node24", options),
  },
  bun: {
    options: SMALLER,
    run: (options) => program(`${root}node_modules/.bin/bun`, [`${out}main.js`], "bun", options),
  },
  deno: {
    options: SMALLER,
    run: (options) => program(`${root}node_modules/.bin/deno`, ["run", "-A", `${out}main.js`], "deno", options),
  },
  // Its clock counts whole ms.
  workerd: { options: { ...SMALLER, samples: 96, coarseClock: true }, run: workerd },
};

const shared = {
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  mainFields: ["module", "main"],
  logLevel: "warning",
};

/** Bundles the suite: with the core's bytes, and for workerd with the core as a module. */
async function bundle() {
  const core = (resolved) => ({
    name: "core",
    setup: (build) => build.onResolve({ filter: /^sluice:core$/ }, () => resolved),
  });
  await build({
    ...shared,
    entryPoints: [`${root}bench/main.ts`],
    outfile: `${out}main.js`,
    loader: { ".wasm": "binary" },
    plugins: [core({ path: `${root}build/core.wasm` })],
    banner: { js: 'import process from "node:process";' },
  });
  await build({
    ...shared,
    entryPoints: [`${root}bench/worker.ts`],
    outfile: `${out}worker.js`,
    plugins: [core({ path: "./core.wasm", external: true })],
  });
}

function program(command, args, name, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args, name, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (data) => {
      output += data;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(output.trim().split("\n").at(-1)));
      else reject(new Error(`${name} ended with ${code}: ${output}`));
    });
  });
}

function node24() {
  return new Promise((resolve, reject) => {
    const child = spawn("npx", ["-y", "node@24", "-p", "process.execPath"], { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.on("data", (data) => resolve(String(data).trim()));
    child.on("close", () => reject(new Error("npx could not run node@24")));
  });
}

async function workerd(options) {
  const { Miniflare } = await import("miniflare");
  const miniflare = new Miniflare({
    compatibilityDate: "2026-04-01",
    modules: [
      { type: "ESModule", path: "worker.js", contents: await readFile(`${out}worker.js`, "utf8") },
      { type: "CompiledWasm", path: "core.wasm", contents: await readFile(`${root}build/core.wasm`) },
    ],
  });
  try {
    const response = await miniflare.dispatchFetch("http://bench/", { method: "POST", body: JSON.stringify(options) });
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  } finally {
    await miniflare.dispose();
  }
}

if (!existsSync(`${root}build/core.wasm`)) throw new Error("run `npm run build` first");
await bundle();
const names = values.runtimes?.split(",") ?? (values.quick ? ["node"] : Object.keys(runtimes));
const results = [];
for (const name of names) {
  const { options, run } = runtimes[name];
  try {
    results.push(
      await run(values.quick ? { ...options, ...QUICK, inserts: options.inserts && QUICK.inserts } : options),
    );
  } catch (error) {
    console.error(`${name} left out: ${error.message}`);
  }
}
const text = await report(results);
console.log(text);
if (!values.quick && !values.runtimes) await writeFile(`${root}bench/RESULTS.md`, text);
