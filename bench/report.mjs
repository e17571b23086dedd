// The suite's results as Markdown.
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import os from "node:os";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const OURS = "sluice allow";
const BATCH = "sluice allowMany(64)";
const JS = "JavaScript table";
const FLEXIBLE = "rate-limiter-flexible";

const count = (keys) => keys.toLocaleString("en");
const ns = (value) => (value === undefined ? "–" : value < 10 ? value.toFixed(1) : String(Math.round(value)));
const times = (value) => (value === undefined || Number.isNaN(value) ? "–" : `${value.toFixed(2)}×`);
const time = (value) =>
  value < 1000
    ? `${Math.round(value)} ns`
    : value < 1e6
      ? `${(value / 1e3).toFixed(1)} µs`
      : `${(value / 1e6).toFixed(1)} ms`;

function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

function decisions({ decisions }) {
  const heads = decisions.map(({ keys, workload }) =>
    `${count(keys)} ${workload.replace("fresh, uniform", "").trim()}`.trim(),
  );
  const names = [...new Set(decisions.flatMap(({ ns }) => Object.keys(ns)))];
  return table(
    ["ns a decision", ...heads],
    names.map((name) => [name, ...decisions.map((row) => ns(row.ns[name]))]),
  );
}

function ratios({ decisions }) {
  const rows = [
    ["allow against rate-limiter-flexible", FLEXIBLE, OURS],
    ["allowMany(64) against rate-limiter-flexible", FLEXIBLE, BATCH],
    ["allow against the JavaScript table", JS, OURS],
    ["allowMany(64) against the JavaScript table", JS, BATCH],
    ["allow against the Map of objects", "Map of objects", OURS],
    ["allow against limiter", "limiter", OURS],
  ];
  const fresh = decisions.filter(({ workload }) => workload === "fresh, uniform");
  return table(
    ["times as fast", ...fresh.map(({ keys }) => count(keys))],
    rows.map(([name, other, ours]) => [name, ...fresh.map((row) => times(row.ns[other] / row.ns[ours]))]),
  );
}

function encoders({ encoders }) {
  const rows = Object.entries(encoders).map(([name, value]) => [name, ns(value)]);
  return table(["writing a key of 24 characters to memory", "ns"], rows);
}

function pauses(title, measured) {
  return table(
    [title, "p50", "p99.9", "p99.99", "worst", "bytes a key"],
    Object.entries(measured).map(([name, { p50, p999, p9999, max, bytesPerKey }]) => [
      name,
      time(p50),
      time(p999),
      time(p9999),
      time(max),
      bytesPerKey ? bytesPerKey.toFixed(1) : "–",
    ]),
  );
}

function version(command, ...args) {
  try {
    return execFileSync(command, args, { encoding: "utf8" }).trim().split("\n")[0];
  } catch {
    return "not installed";
  }
}

async function versions() {
  const of = async (name) => JSON.parse(await readFile(`${root}node_modules/${name}/package.json`, "utf8")).version;
  const packages = ["rate-limiter-flexible", "limiter", "bun", "deno", "miniflare", "workerd"];
  const listed = await Promise.all(packages.map(async (name) => `${name} ${await of(name)}`));
  return [`node ${process.version}`, `node24 ${version("npx", "-y", "node@24", "--version")}`, ...listed].join(", ");
}

/** All of RESULTS.md. */
export async function report(results) {
  const sections = results.map((result) => {
    const parts = [`## ${result.runtime}`, decisions(result), ratios(result)];
    if (Object.keys(result.encoders).length > 0) parts.push(encoders(result));
    if (Object.keys(result.inserts).length > 0) {
      parts.push(pauses("inserting new keys, each timed", result.inserts));
      parts.push(pauses("a million decisions on those, each timed", result.steady));
    }
    return parts.join("\n\n");
  });
  return `# Benchmark results

Written by \`npm run bench\`. Machine: ${os.cpus()[0]?.model.trim()}, ${os.cpus().length} cores, ${Math.round(os.totalmem() / 2 ** 30)} GiB, ${os.type()} ${os.release()}.
Versions: ${await versions()}.

All contenders of a runtime decide in the same process, in turns, on the same kind of keys; the
figures are medians (in workerd, whose clock counts whole ms, means). Keys are strings of 24 characters that were made a moment ago, as they come
from a request's header, drawn uniformly, unless said otherwise. A decision reads the clock
(a batch of 64 once) and takes one token. Where a
contender has no figure it could not hold so many keys: rate-limiter-flexible sets a timer for
each key, and workerd allows 10,000.

${sections.join("\n\n")}
`;
}
