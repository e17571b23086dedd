// Speed and memory of `sluice replay` on a big, disordered log that this makes first.
//
//   node bench/replay.mjs [gigabytes = 1] [keys = 100000] [policy]
//
// Lines are up to a minute out of order, and one in 1,000 up to a day.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [gigabytes = "1", keys = "100000", policy = "tokenBucket:rate=10,per=1m,burst=20"] = process.argv.slice(2);
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Park and Miller's generator: the same log every time. */
let seed = 20_150_517;
const random = () => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
};

function line(index) {
  const late = random() < 0.001 ? 86_400_000 * random() : 60_000 * random();
  const time = new Date(1_431_857_100_000 + index * 5 - late);
  const two = (value) => String(value).padStart(2, "0");
  const day = `${two(time.getUTCDate())}/${MONTHS[time.getUTCMonth()]}/${time.getUTCFullYear()}`;
  const clock = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}:${two(time.getUTCSeconds())}`;
  // The square prefers low numbers: a few busy clients, many that come seldom.
  const client = Math.floor(random() ** 2 * Number(keys));
  const ip = `10.${client >>> 16}.${(client >>> 8) & 255}.${client & 255}`;
  return `${ip} - - [${day}:${clock} +0000] "GET /item/${index} HTTP/1.1" 200 5120 "-" "Mozilla/5.0 (X11; Linux x86_64)"\n`;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
try {
  const log = join(folder, "access.log");
  const file = openSync(log, "w");
  let lines = 0;
  for (let bytes = 0; bytes < Number(gigabytes) * 1e9; ) {
    let block = "";
    for (let i = 0; i < 1000; i++) block += line(lines++);
    bytes += writeSync(file, block);
  }
  closeSync(file);

  const report = 'process.on("exit", () => console.error("peak", process.resourceUsage().maxRSS))';
  const started = performance.now();
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [
      `--import=data:text/javascript,${encodeURIComponent(report)}`,
      "dist/cli.js",
      "replay",
      log,
      "--policy",
      policy,
      "--json",
      "--top",
      "0",
    ],
    { encoding: "utf8" },
  );
  const seconds = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(stderr);
  console.log(stdout.trim());
  console.log(
    `${(statSync(log).size / 1e9).toFixed(2)} GB, ${lines} lines, ${seconds.toFixed(1)} s, ` +
      `${Math.round(lines / seconds)} lines/s, ${Math.round(Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024)} MiB at the peak`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
