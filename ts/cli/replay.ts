// `sluice replay`: what a policy would have done to the traffic in access logs.
import { parseArgs } from "node:util";
import { createLimiter, type Policy, parsePolicy } from "../index.ts";
import { Failure } from "./failure.ts";
import { type Source, sourcesOf } from "./input.ts";
import type { Io } from "./io.ts";
import { Progress } from "./progress.ts";
import { LogReader, type ReadCounts } from "./reader.ts";
import { type Fields, TIME_FIELDS } from "./records.ts";
import { json, type Replayed, skippedText, table } from "./report.ts";
import { RUN_MAX, TimeSorter } from "./sorter.ts";
import { Tally } from "./tally.ts";

const EXAMPLE = "--policy tokenBucket:rate=10,per=1m,burst=20";

const HELP = `Usage: sluice replay FILE... --policy POLICY [options]

What a policy would have done to the traffic in access logs. Reads Common and
Combined format and JSON lines, plain or gzip; without FILE, or for "-",
standard input. Requests are decided in the order of their times.

Options:
  --policy POLICY   tokenBucket:rate=10,per=1m,burst=20
                    fixedWindow:limit=100,window=1h
                    slidingWindow:limit=30,window=1m
  --key FIELD       what to limit by, default ip: the first field of Common
                    and Combined; in JSON lines a field, such as user.id
  --time FIELD      the time in JSON lines; default the first there is of
                    ${TIME_FIELDS.join(", ")}
  --top N           list the N keys denied most, default 10
  --json            one line of JSON instead of a table
  --sort-buffer N   requests sorted in memory at once, default ${RUN_MAX};
                    more are sorted through a file in TMPDIR
  --help            this text

Exit status: 0 done, 2 a wrong option or an unreadable file.
`;

interface Options {
  policy: Policy;
  fields: Fields;
  top: number;
  json: boolean;
  sortBuffer: number;
  files: string[];
}

/** @throws {Failure} an option is wrong, or a file can't be read */
export async function replay(args: string[], io: Io): Promise<void> {
  const options = optionsOf(args, io);
  if (options === "help") {
    io.stdout.write(HELP);
    return;
  }
  const sources = await sourcesOf(options.files, io.stdin);
  const progress = new Progress(io);
  const sorter = new TimeSorter(options.sortBuffer);
  try {
    const tally = new Tally();
    const counts = await readAll(sources, options.fields, tally, sorter, progress);
    const found = decideAll(options, counts, tally, sorter, progress);
    progress.clear();
    if (counts.skipped > 0) io.stderr.write(`sluice: ${skippedText(counts.skipped, counts.unread)}\n`);
    io.stdout.write(`${options.json ? json(found) : table(found, options.policy, options.fields.key)}\n`);
  } finally {
    progress.clear();
    sorter.close();
  }
}

function optionsOf(args: string[], io: Io): Options | "help" {
  const { values, positionals } = parsed(args);
  if (values.help) return "help";
  if (values.policy === undefined) throw new Failure(`--policy is missing, for example ${EXAMPLE}`);
  if (positionals.length === 0 && io.stdin.isTTY) throw new Failure("no log given: name files, or pipe one in");
  return {
    policy: policyOf(values.policy),
    fields: { key: nonEmpty("key", values.key), time: values.time ? [nonEmpty("time", values.time)] : TIME_FIELDS },
    top: integer("top", values.top, 0, 10_000),
    json: values.json,
    sortBuffer: integer("sort-buffer", values["sort-buffer"], 2, RUN_MAX),
    files: positionals.length > 0 ? positionals : ["-"],
  };
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        policy: { type: "string" },
        key: { type: "string", default: "ip" },
        time: { type: "string" },
        top: { type: "string", default: "10" },
        json: { type: "boolean", default: false },
        "sort-buffer": { type: "string", default: String(RUN_MAX) },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    // The first sentence names the option; the rest is about quoting, and misleads here.
    throw new Failure(`${(error as Error).message.split(". ")[0]}; see sluice replay --help`);
  }
}

function policyOf(text: string): Policy {
  try {
    return parsePolicy(text);
  } catch (error) {
    throw new Failure(`--policy ${text}: ${(error as Error).message}`, { cause: error });
  }
}

function nonEmpty(name: string, text: string): string {
  if (text === "") throw new Failure(`--${name} must name a field`);
  return text;
}

function integer(name: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw new Failure(`--${name} must be an integer in ${min}..${max}; got "${text}"`);
  return value;
}

async function readAll(
  sources: Source[],
  fields: Fields,
  tally: Tally,
  sorter: TimeSorter,
  progress: Progress,
): Promise<ReadCounts> {
  const reader = new LogReader(fields, ({ key, time }) => sorter.add(time, tally.idOf(key)));
  const total = sources.reduce((sum, { bytes }) => sum + (bytes ?? Number.NaN), 0);
  let done = 0;
  for (const source of sources) {
    await reader.read(source, (bytes) => {
      done += bytes;
      progress.update(() => `reading${percent(done, total)}, ${reader.counts.lines.toLocaleString("en-US")} lines`);
    });
  }
  return reader.counts;
}

function decideAll(
  { policy, top }: Options,
  { requests, skipped, outOfOrder }: ReadCounts,
  tally: Tally,
  sorter: TimeSorter,
  progress: Progress,
): Replayed {
  let now = 0;
  let from = 0;
  let decided = 0;
  let denied = 0;
  const limiter = createLimiter({ policy, clock: { now: () => now } });
  sorter.drain((time, id) => {
    if (decided++ === 0) from = time;
    now = time;
    const { success } = limiter.limitSync(tally.nameOf(id));
    if (!success) denied++;
    tally.count(id, success);
    if (decided % 65_536 === 0) progress.update(() => `deciding${percent(decided, requests)}`);
  });
  return {
    requests,
    skipped,
    outOfOrder,
    keys: tally.keys,
    admitted: requests - denied,
    denied,
    keysDenied: tally.keysDenied,
    top: tally.top(top),
    span: requests > 0 ? { from, to: now } : null,
  };
}

/** Nothing where the whole isn't known. */
function percent(part: number, whole: number): string {
  return whole > 0 ? ` ${Math.floor((100 * part) / whole)} %` : "";
}
