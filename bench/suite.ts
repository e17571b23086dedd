// What is measured, in whatever runtime this runs.
import { type Contender, contenders, steadyContenders } from "./contenders.ts";
import { measureEncoders } from "./encoders.ts";
import { CHUNK, type Draw, freshKeys, uniform, zipf } from "./workload.ts";

export interface SuiteOptions {
  /** How many keys, for the time of a decision. */
  sizes: number[];
  /** Chunks of decisions measured for each contender and size. */
  samples: number;
  /** Keys inserted one by one, each timed; 0: none. */
  inserts: number;
  /** The clock counts whole ms: only a mean over many chunks says something. */
  coarseClock?: boolean;
}

export interface SuiteResult {
  runtime: string;
  /** Median ns for a key's bytes to reach memory. */
  encoders: Record<string, number>;
  /** Median ns of a decision; the mean where the clock is coarse. */
  decisions: { keys: number; workload: string; ns: Record<string, number> }[];
  inserts: Record<string, Pauses & { bytesPerKey: number | null }>;
  steady: Record<string, Pauses>;
}

/** ns of single calls. */
export interface Pauses {
  p50: number;
  p999: number;
  p9999: number;
  max: number;
}

export async function runSuite(
  runtime: string,
  options: SuiteOptions,
  log: (line: string) => void,
): Promise<SuiteResult> {
  const result: SuiteResult = {
    runtime,
    encoders: options.coarseClock ? {} : measureEncoders(options.samples),
    decisions: [],
    inserts: {},
    steady: {},
  };
  for (const keys of options.sizes) {
    const workloads: [string, Draw, boolean][] = [["fresh, uniform", uniform, false]];
    if (keys === 100_000 || keys === 1_000_000) workloads.push(["fresh, Zipf", zipf, false]);
    if (keys === 100_000) workloads.push(["reused, uniform", uniform, true]);
    const pool = keys === 100_000 ? freshKeys(Array.from({ length: keys }, (_, id) => id)) : [];
    let reuse = false;
    const all: Contender[] = [];
    for (const contender of contenders(keys, (ids) =>
      reuse ? Array.from(ids, (id) => pool[id] as string) : freshKeys(ids),
    )) {
      try {
        await fill(contender, keys);
        all.push(contender);
      } catch (error) {
        // workerd allows 10,000 timers, and rate-limiter-flexible sets one for each key.
        log(`${contender.name} can't hold ${keys} keys here: ${error}`);
      }
    }
    for (const [workload, draw, reused] of workloads) {
      log(`${runtime}: ${keys} keys, ${workload}`);
      reuse = reused;
      result.decisions.push({ keys, workload, ns: await timeAll(all, () => draw(keys), options) });
    }
  }
  if (options.inserts > 0) {
    log(`${runtime}: ${options.inserts} inserts, one by one`);
    for (const contender of steadyContenders(options.inserts)) {
      const before = heapBytes();
      const pauses = await each(contender, options.inserts, (from) =>
        Float64Array.from({ length: CHUNK }, (_, nth) => from + nth),
      );
      const bytes = contender.bytes?.() ?? heapBytes() - before;
      result.inserts[contender.name] = { ...pauses, bytesPerKey: bytes > 0 ? bytes / options.inserts : null };
      result.steady[contender.name] = await each(contender, 1_000_000, () => uniform(options.inserts));
    }
  }
  return result;
}

async function fill(contender: Contender, keys: number): Promise<void> {
  for (let from = 0; from < keys; from += CHUNK) {
    await contender.run(
      contender.prepare(Float64Array.from({ length: CHUNK }, (_, nth) => (from + nth) % keys)) as never,
    );
  }
}

/** Chunks that a contender decides on before the next one's turn: its memory is then in the caches. */
const TURN = 8;

/** ns of a decision for each; they take turns, so that a noisy moment troubles all alike. */
async function timeAll(
  all: Contender[],
  ids: () => Float64Array,
  { samples, coarseClock }: SuiteOptions,
): Promise<Record<string, number>> {
  const times = all.map((): number[] => []);
  for (let turn = 0; turn < samples / TURN; turn++) {
    for (const [index, contender] of all.entries()) {
      for (let sample = -2; sample < TURN; sample++) {
        const chunk = contender.prepare(ids()) as never;
        const start = performance.now();
        const admitted = await contender.run(chunk);
        const ns = ((performance.now() - start) * 1e6) / CHUNK;
        if (admitted !== CHUNK) throw new Error(`${contender.name} refused ${CHUNK - admitted} of ${CHUNK}`);
        if (sample >= 0) times[index]?.push(ns);
      }
    }
  }
  const typical = coarseClock ? mean : (sorted: Float64Array) => quantile(sorted, 0.5);
  return Object.fromEntries(
    all.map(({ name }, index) => [name, typical(Float64Array.from(times[index] ?? []).sort())]),
  );
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Times `count` single calls. */
async function each(contender: Contender, count: number, ids: (from: number) => Float64Array): Promise<Pauses> {
  const times = new Float64Array(Math.ceil(count / CHUNK) * CHUNK);
  const one = [""];
  for (let from = 0; from < count; from += CHUNK) {
    const chunk = contender.prepare(ids(from)) as string[];
    for (let nth = 0; nth < CHUNK; nth++) {
      one[0] = chunk[nth] as string;
      const start = performance.now();
      contender.run(one as never);
      times[from + nth] = (performance.now() - start) * 1e6;
    }
  }
  times.sort();
  return {
    p50: quantile(times, 0.5),
    p999: quantile(times, 0.999),
    p9999: quantile(times, 0.9999),
    max: quantile(times, 1),
  };
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)] as number;
}

/** What is in use on the heap after a collection; 0 where that can't be told. */
function heapBytes(): number {
  const { gc, process } = globalThis as { gc?: () => void; process?: { memoryUsage?: () => { heapUsed: number } } };
  if (!gc || !process?.memoryUsage) return 0;
  gc();
  return process.memoryUsage().heapUsed;
}
