// Runs inside each runtime: drives its hosts, and prints a row for each way.
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { createLimiter, exact, tokenBucket } from "sluice";
import { remote } from "sluice/remote";

const [runtime, folder, rounds, roundMs] = process.argv.slice(2);
const { embedded, serveLedger, denoKv } = await import(`sluice/${runtime}`);
const policy = tokenBucket({ rate: 1e9, per: "1s" });
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/** Drives `call` with so many under way for a round: calls per second, and the 99th percentile in ms. */
async function drive(call, inFlight) {
  const times = [];
  const start = performance.now();
  const loop = async () => {
    let now = performance.now();
    while (now - start < Number(roundMs)) {
      await call(times.length);
      const then = now;
      now = performance.now();
      times.push(now - then);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  const perSecond = (times.length * 1000) / (performance.now() - start);
  times.sort((a, b) => a - b);
  return { perSecond, p99: times[Math.floor(times.length * 0.99)] };
}

/** Every way in turn, round after round; each is { name, call, inFlight }, with the decisions in a call. */
async function compare(ways) {
  const seen = ways.map(() => []);
  for (let round = 0; round < Number(rounds); round++) {
    for (const [index, { call, inFlight }] of ways.entries()) seen[index].push(await drive(call, inFlight));
  }
  const rows = ways.map(({ name, decisions = 1 }, index) => ({
    name,
    perSecond: decisions * median(seen[index].map(({ perSecond }) => perSecond)),
    p99: median(seen[index].map(({ p99 }) => p99)),
  }));
  for (const { name, perSecond, p99 } of rows) {
    const rate = Math.round(perSecond).toLocaleString("en").padStart(11);
    console.log(`  ${name.padEnd(44)} ${rate} /s   p99 ${p99.toFixed(3).padStart(8)} ms`);
  }
  return rows;
}

function limiting(name, link) {
  const limiter = createLimiter({ policy, name, design: exact(), link, onUnreachable: "deny", deadline: "10s" });
  return async (nth) => {
    const { success } = await limiter.limit(`key${nth % 100}`);
    if (!success) throw new Error(`${name}: a call was refused`);
  };
}

const links = { memory: embedded(), SQLite: embedded({ path: join(folder, `${runtime}.db`) }) };
const server = await serveLedger({ link: embedded() });
links["remote, memory"] = remote(`http://127.0.0.1:${server.port}`);
const kv = denoKv && (await globalThis.Deno.openKv(join(folder, "kv.db")));
if (kv) links["Deno KV"] = denoKv(kv);

const local = createLimiter({ policy });
const version = globalThis.Bun?.version ?? globalThis.Deno?.version.deno ?? process.versions.node;
console.log(`\n${runtime} ${version}: decisions, over 100 keys`);
await compare([
  { name: "local(), p99 of a hundred", call: hundred, decisions: 100, inFlight: 1 },
  ...Object.entries(links).flatMap(([name, link]) =>
    [1, 64].map((inFlight) => ({ name: `${name}, ${inFlight} under way`, call: limiting(name, link), inFlight })),
  ),
]);

/** One decision is too short to be timed. */
async function hundred() {
  for (let nth = 0; nth < 100; nth++) local.limitSync(`key${nth}`);
}

// The same server with and without: what is between is the limiter's.
console.log(`${runtime} ${version}: HTTP requests, 16 under way`);
const limited = limiting("http", links.memory);
const app = createServer(async (request, response) => {
  if (request.url === "/local") local.limitSync("client");
  if (request.url === "/memory") await limited(0);
  response.end("ok");
});
await new Promise((resolve) => app.listen(0, "127.0.0.1", resolve));
const get = (path) => async () => (await fetch(`http://127.0.0.1:${app.address().port}${path}`)).text();
const rows = await compare(
  ["/plain", "/local", "/memory"].map((path) => ({ name: path.slice(1), call: get(path), inFlight: 16 })),
);
for (const { name, perSecond } of rows.slice(1)) {
  console.log(`  ${name} adds ${(1e6 / perSecond - 1e6 / rows[0].perSecond).toFixed(1)} µs to a request`);
}
kv?.close();
process.exit(0);
