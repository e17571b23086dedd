// npm run bench:http [-- --quick] [express|fastify|hono]
// Requests per second, latency and CPU of each middleware on the same server in the same run.
//
// Every contender has a process of its own, and all take turns in rounds, so that what else the
// machine does meets all alike; the figures are medians over the rounds. CPU time of the server per
// request is the steadiest of them. What a middleware adds is its price: the median of what it took
// beyond the bare server of the same round.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { load } from "./load.mjs";
import { CONTENDERS } from "./server.mjs";

const quick = process.argv.includes("--quick");
const all = [...new Set(CONTENDERS.map((contender) => contender.framework))];
const named = all.filter((framework) => process.argv.includes(framework));
const ROUNDS = quick ? 5 : 45;
const ROUND_MS = 250;
const WARM_UP_MS = 2000;
const CONNECTIONS = 16;
const server = fileURLToPath(new URL("server.mjs", import.meta.url));

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const quantile = (values, q) => values.toSorted((a, b) => a - b)[Math.floor(values.length * q)];

async function start({ framework, kind }) {
  const child = fork(server, [`${framework}/${kind}`]);
  const [{ port }] = await once(child, "message");
  await load(port, CONNECTIONS, WARM_UP_MS);
  return { framework, kind, child, port, rates: [], tails: [], cpu: [] };
}

async function cpuMicros(child) {
  child.send("cpu");
  const [{ cpu }] = await once(child, "message");
  return cpu.user + cpu.system;
}

async function measure(contender) {
  const before = await cpuMicros(contender.child);
  const times = await load(contender.port, CONNECTIONS, ROUND_MS);
  contender.cpu.push(((await cpuMicros(contender.child)) - before) / times.length);
  contender.rates.push((times.length / ROUND_MS) * 1000);
  contender.tails.push(quantile(times, 0.99));
}

const row = (cells) =>
  console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(30) : cell.padStart(12))).join(""));

for (const framework of named.length > 0 ? named : all) {
  const running = [];
  for (const contender of CONTENDERS.filter((one) => one.framework === framework)) running.push(await start(contender));
  for (let round = 0; round < ROUNDS; round++) {
    for (let nth = 0; nth < running.length; nth++) await measure(running[(round + nth) % running.length]);
  }
  const [bare] = running;
  console.log(
    `\n${framework}: ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS} ms, Node ${process.version}`,
  );
  row(["", "requests/s", "p99 ms", "+ p99 ms", "CPU µs", "+ CPU µs"]);
  for (const { kind, rates, tails, cpu, child } of running) {
    const added = (list, base) => (list === base ? "" : median(list.map((value, nth) => value - base[nth])).toFixed(2));
    row([
      kind,
      median(rates).toFixed(0),
      median(tails).toFixed(2),
      added(tails, bare.tails),
      median(cpu).toFixed(1),
      added(cpu, bare.cpu),
    ]);
    child.kill();
  }
}
