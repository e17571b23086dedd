// npm run bench:http [-- --quick] [express|fastify|hono]
// Requests per second, latency and CPU of each middleware on the same server in the same run.
//
// Every contender has a process of its own, and all take turns in rounds, so that what else the
// machine does meets all alike; the figures are medians over the rounds. CPU time of the server per
// request is the steadiest of them: the mean of the quarter of rounds in which it was least, since
// other work on the machine can only add to it. What a middleware adds there is its price. On a machine
// that is never quiet the last column tells more: requests without sockets, in the quietest tenth of turns.
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
const TURNS = quick ? 100 : 500;
const CONNECTIONS = 16;
const server = fileURLToPath(new URL("server.mjs", import.meta.url));

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const quietest = (values) => {
  const least = values.toSorted((a, b) => a - b).slice(0, Math.ceil(values.length / 4));
  return least.reduce((sum, value) => sum + value, 0) / least.length;
};
const lowTenth = (values) => quantile(values, 0.1);
const quantile = (values, q) => values.toSorted((a, b) => a - b)[Math.floor(values.length * q)];

async function start({ framework, kind }) {
  const child = fork(server, [`${framework}/${kind}`]);
  const [port] = await once(child, "message");
  await load(port, CONNECTIONS, WARM_UP_MS);
  return { framework, kind, child, port, rates: [], tails: [], cpu: [], turns: [] };
}

async function ask(child, what) {
  child.send(what);
  const [answer] = await once(child, "message");
  return answer;
}

async function cpuMicros(child) {
  const { user, system } = await ask(child, "cpu");
  return user + system;
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
  for (let nth = 0; nth < TURNS; nth++) {
    for (const { child, turns } of running) turns.push(await ask(child, "turn"));
  }
  for (const { child } of running) child.kill();
  const [bare] = running;
  console.log(
    `\n${framework}: ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS} ms, Node ${process.version}`,
  );
  row(["", "requests/s", "p99 ms", "+ p99 ms", "CPU µs", "+ CPU µs", "+ inner µs"]);
  for (const { kind, rates, tails, cpu, turns } of running) {
    const added = (of, list, base) => (list === base ? "" : (of(list) - of(base)).toFixed(2));
    row([
      kind,
      median(rates).toFixed(0),
      median(tails).toFixed(2),
      added(median, tails, bare.tails),
      quietest(cpu).toFixed(1),
      added(quietest, cpu, bare.cpu),
      added(lowTenth, turns, bare.turns),
    ]);
  }
}
