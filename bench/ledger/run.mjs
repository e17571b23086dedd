// Decisions per second of one ledger: coalesced, against the plain way of one call and one write
// for each request; and of a key over several. Real workerd and real SQLite, each way in turn,
// several rounds; medians.
//   npm run bench:ledger [-- --quick]
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Miniflare } from "miniflare";
import { createLimiter, exact, lazy, reserve, strict, tokenBucket } from "sluice";
import { embedded } from "sluice/node";
import { bundleWorker } from "../../scripts/bundle-worker.mjs";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 3 : 5;
const ROUND_MS = quick ? 500 : 2000;

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const perSecond = (rate) => Math.round(rate).toLocaleString("en").padStart(11);

async function startWorkerd(persist) {
  return new Miniflare({
    modules: await bundleWorker("bench/ledger/worker.ts"),
    compatibilityDate: "2026-04-01",
    durableObjects: {
      LEDGER: { className: "LedgerObject", useSQLite: true },
      MIDDLE: { className: "MiddleObject", useSQLite: true },
      PLAIN: { className: "PlainObject", useSQLite: true },
    },
    durableObjectsPersist: persist,
  });
}

/** Runs every way in turn, round after round, and prints each one's median and ratio to the first. */
async function compare(title, ways, measure) {
  const rates = new Map(ways.map((way) => [way, []]));
  const trips = new Map();
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of ways) {
      const { rate, callsPerTrip } = await measure(way, round);
      rates.get(way).push(rate);
      if (callsPerTrip) trips.set(way, [...(trips.get(way) ?? []), callsPerTrip]);
    }
  }
  console.log(`\n${title}`);
  const base = median(rates.get(ways[0]));
  for (const way of ways) {
    const rate = median(rates.get(way));
    const perTrip = trips.get(way) ? `   ${median(trips.get(way)).toLocaleString("en")} calls a round trip` : "";
    console.log(
      `  ${way.padEnd(28)} ${perSecond(rate)} decisions/s   ${(rate / base).toFixed(1).padStart(6)} ×${perTrip}`,
    );
  }
}

async function workerd(folder) {
  const mf = await startWorkerd(join(folder, "objects"));
  const url = await mf.ready;
  for (const inFlight of [1, 64, 1024]) {
    await compare(
      `One key on one Durable Object in workerd, ${inFlight === 1 ? "one call" : `${inFlight} calls`} in flight`,
      ["plain", "strict", "reserve", "lazy", "lease", "lease, by decide()"],
      (mode, round) => ask(url, mode, inFlight, `${inFlight}-${round}`),
    );
  }
  // One thread runs all the objects and those who ask: this shows what a shard spares, not what
  // more machines would add.
  await compare(
    "One hot key, 32 holders with 8 calls in flight each, every shard a Durable Object of one workerd",
    ["hot exact", ...["leased", "static"].flatMap((split) => [1, 4, 16].map((shards) => `hot ${split} ${shards}`))],
    (mode, round) => ask(url, mode, 256, `hot-${round}`),
  );
  await mf.dispose();
}

async function ask(url, mode, inFlight, round) {
  const query = new URLSearchParams({ mode, inFlight, ms: ROUND_MS, round });
  const { admitted, calls, requests, ms } = await (await fetch(`${url}?${query}`)).json();
  if (admitted !== calls) throw new Error(`${mode}: ${calls - admitted} of ${calls} calls were refused`);
  return { rate: (calls * 1000) / ms, callsPerTrip: Math.round(calls / Math.max(requests, 1)) };
}

/** Over all keys of one Node process: how many decisions, and how many commits they took. */
async function node(folder) {
  const durabilities = { strict: strict(), reserve: reserve(10_000), lazy: lazy({ every: "1s" }) };
  for (const [inFlight, keys] of [
    [64, 1],
    [64, 1000],
    [1024, 1000],
  ]) {
    const ways = ["one call at a time, strict", ...Object.keys(durabilities)];
    await compare(`Node with SQLite, ${keys} keys, ${inFlight} calls in flight`, ways, async (way, round) => {
      const durability = durabilities[way] ?? strict();
      const link = embedded({ path: join(folder, `${inFlight}-${keys}-${way}-${round}.db`), durability });
      const policy = tokenBucket({ rate: 1e9, per: "1s" });
      const limiter = createLimiter({ policy, design: exact(), link, onUnreachable: "deny", deadline: "10s" });
      const start = performance.now();
      let calls = 0;
      const drive = async () => {
        while (performance.now() - start < ROUND_MS) {
          const { success } = await limiter.limit(`key${calls++ % keys}`);
          if (!success) throw new Error("a call was refused");
        }
      };
      await Promise.all(Array.from({ length: way in durabilities ? inFlight : 1 }, drive));
      const rate = (calls * 1000) / (performance.now() - start);
      await limiter.close();
      await link.close();
      return { rate };
    });
  }
}

const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
console.log(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${ROUNDS} rounds of ${ROUND_MS} ms each`,
);
try {
  await workerd(folder);
  await node(folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}
