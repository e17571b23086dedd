// What an overdraft gives and costs, and what has no bound: npm run dial -- --seeds 20
// Simulated runs from so many seeds each: the worst overshoot of them, and their mean utilization.
import { lease, local, optimistic, strict, tokenBucket } from "../dist/index.js";
import { simulate } from "../dist/testing.js";

const RATE = 100;
const BURST = 100;
const BLIND_MS = 1000;
const policies = [tokenBucket({ rate: RATE, burst: BURST })];
const given = process.argv.indexOf("--seeds");
const seeds = given < 0 ? 10 : Number(process.argv[given + 1]);
if (!(seeds >= 1)) throw new RangeError(`--seeds must be a positive integer; got ${process.argv[given + 1]}`);

/** Every PoP with a budget of its own, a part of the whole one. */
const split = (parts) => ({
  design: local(),
  own: [tokenBucket({ rate: RATE, per: 1000 * parts, burst: Math.max(Math.floor(BURST / parts), 1) })],
});

const overdraft = (part, blind = BLIND_MS) => ({ design: optimistic({ every: 200, blind, overdraft: part }) });

async function measure(chosen, pops, demand, faults, durationMs = 8000) {
  let worst = 0;
  let utilization = 0;
  let bound = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const report = await simulate({
      ...{ seed, policies, ...chosen, pops, demand: { costMax: 1, ...demand }, durationMs, rttMs: 40, faults },
      ...{ durability: strict(), onUnreachable: "deny" },
    });
    worst = Math.max(worst, report.overshoot);
    utilization += report.utilization / seeds;
    bound = report.bounds.overshoot;
  }
  return { worst, utilization, bound };
}

function row(...cells) {
  console.log(`| ${cells.map((cell) => (typeof cell === "number" ? String(Math.round(cell)) : cell)).join(" | ")} |`);
}

const title = (text) => console.log(`\n${text}`);
title(`The dial: ${RATE}/s, burst ${BURST}, blind ${BLIND_MS} ms, PoPs cut off at random, ${seeds} seeds a row`);
row("overdraft", "PoPs", "worst overshoot", "bound", "utilization");
for (const pops of [2, 5, 20, 100]) {
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const demand = { kind: "steady", load: Math.max(3, pops / 2) };
    const { worst, bound, utilization } = await measure(overdraft(part), pops, demand, ["cuts"]);
    row(String(part), pops, worst, bound, utilization.toFixed(2));
    if (worst > bound) process.exitCode = 1;
  }
}

title("What has no bound, against the same one:");
row("PoPs", "cut off for", "overdraft that ends", "one that goes on growing", "each PoP the whole limit", "bound");
for (const pops of [5, 20]) {
  for (const durationMs of [8000, 32_000]) {
    const demand = { kind: "steady", load: pops / 2 };
    const ending = await measure(overdraft(1), pops, demand, ["cuts"], durationMs);
    const growing = await measure(overdraft(1, "5m"), pops, demand, ["cuts"], durationMs);
    const whole = await measure(split(1), pops, demand, [], durationMs);
    row(pops, `${durationMs / 8000} s on average`, ending.worst, growing.worst, whole.worst, ending.bound);
  }
}

title("Utilization of 8 PoPs whose demand differs, none cut off, and the overshoot:");
row("demand", "lease()", "optimistic()", "a fixed part each");
for (const kind of ["steady", "skewed", "hotspot"]) {
  const cells = [];
  for (const chosen of [{ design: lease() }, overdraft(1), split(8)]) {
    const { worst, utilization } = await measure(chosen, 8, { kind, load: 1.5 }, [], 16_000);
    cells.push(`${utilization.toFixed(3)} (${Math.round(worst)})`);
  }
  row(kind, ...cells);
}
