// Searches for a run that breaks a bound: npm run sim -- --design lease --seeds 1000
// One run: --seed N. What else is given is not drawn from the seed: --pops 8 --faults none.
import { commandOf, FAULT_KINDS, run, scenarioOf, shrink } from "../dist/testing.js";

const NUMBERS = ["seed", "pops", "regions", "lifeMs", "load", "costMax", "durationMs", "rttMs", "slack"];
const WORDS = ["design", "policy", "demand", "durability", "onUnreachable"];
const OWN = ["seeds", "from"];

function parse(args) {
  const given = {};
  for (let at = 0; at < args.length; at += 2) {
    const name = args[at].replace(/^--/, "");
    const value = args[at + 1];
    if (value === undefined) throw new RangeError(`${args[at]} needs a value`);
    if (NUMBERS.includes(name) || OWN.includes(name)) given[name] = Number(value);
    else if (WORDS.includes(name)) given[name] = value;
    else if (name === "faults") given.faults = faultsOf(value);
    else
      throw new RangeError(`unknown option ${args[at]}; known: ${[...OWN, ...NUMBERS, ...WORDS, "faults"].join(", ")}`);
  }
  return given;
}

function faultsOf(text) {
  if (text === "all") return FAULT_KINDS;
  const faults = text === "none" ? [] : text.split(",");
  for (const fault of faults) if (!FAULT_KINDS.includes(fault)) throw new RangeError(`unknown fault ${fault}`);
  return faults;
}

const { seeds, from = 1, seed, ...given } = parse(process.argv.slice(2));
const first = seed ?? from;
const last = first + (seed === undefined ? (seeds ?? 100) : 1) - 1;
const sum = { admitted: 0, clairvoyant: 0, requests: 0, middleRequests: 0, admittedCalls: 0 };
let worst = Number.NEGATIVE_INFINITY;
for (let nth = first; nth <= last; nth++) {
  const scenario = scenarioOf(nth, given);
  const report = await run(scenario);
  if (seed !== undefined) console.log(report);
  for (const name of Object.keys(sum)) sum[name] += report[name] ?? 0;
  if (report.allowed === 0) worst = Math.max(worst, report.overshoot);
  if (report.problems.length === 0) continue;
  console.log(`seed ${nth}: ${report.problems.join("; ")}`);
  const fails = async (smaller) => (await run(smaller)).problems.length > 0;
  const smallest = await shrink(scenario, fails);
  console.log(`${(await run(smallest)).problems.join("; ")}\n${commandOf(smallest)}`);
  process.exit(1);
}
const per = (a, b) => (a / Math.max(b, 1)).toFixed(3);
console.log(
  `${last - first + 1} runs held. Worst overshoot where none is allowed: ${Math.max(worst, 0)}. ` +
    `Utilization ${per(sum.admitted, sum.clairvoyant)}, ${per(sum.requests, sum.admittedCalls)} round trips per admit` +
    (sum.middleRequests > 0 ? `, and ${per(sum.middleRequests, sum.admittedCalls)} to middle ledgers.` : "."),
);
