import { RateLimiter } from "limiter";
// @ts-expect-error the package gives this file no types of its own
import RateLimiterMemory from "rate-limiter-flexible/lib/RateLimiterMemory.js";
import type { LocalLimiter } from "../ts/contract.ts";
import { createLimiter, local, tokenBucket } from "../ts/index.ts";
import { JsTable } from "./js-table.ts";
import { CHUNK, freshKeys } from "./workload.ts";

// A token takes ten minutes to come back: what is measured is never freed, and nothing is refused.
const BURST = 1_000_000_000;
const policy = tokenBucket({ rate: 1, per: "10m", burst: BURST });

export const BATCH = 64;

/** One way to decide. Every run reads the time itself, once a decision or a batch. */
export interface Contender {
  name: string;
  /** Brings the ids of a chunk into the form that the contender takes. Not measured. */
  prepare(ids: Float64Array): unknown;
  /** Decides on a prepared chunk; how many were admitted. */
  run(chunk: never): number | Promise<number>;
  bytes?(): number;
}

function batches<T>(keys: T[]): T[][] {
  return Array.from({ length: CHUNK / BATCH }, (_, nth) => keys.slice(nth * BATCH, (nth + 1) * BATCH));
}

/** All contenders, each new and empty. Strings come from `strings`. */
export function contenders(keys: number, strings: (ids: Float64Array) => string[] = freshKeys): Contender[] {
  const sluice = newLimiter(keys);
  const sluiceInteger = newLimiter(keys);
  const js = new JsTable(policy.constants);
  const jsInteger = new JsTable(policy.constants);
  const into = new Uint8Array(BATCH);
  return [
    allowStrings(sluice, strings),
    {
      name: "sluice limitSync",
      prepare: strings,
      run(chunk: string[]) {
        let admitted = 0;
        for (let nth = 0; nth < chunk.length; nth++) if (sluice.limitSync(chunk[nth] as string).success) admitted++;
        return admitted;
      },
    },
    {
      name: `sluice allowMany(${BATCH})`,
      prepare: (ids) => batches(strings(ids)),
      run(chunk: string[][]) {
        let admitted = 0;
        for (const keys of chunk) {
          sluice.allowMany(keys, undefined, into);
          for (let nth = 0; nth < BATCH; nth++) admitted += into[nth] as number;
        }
        return admitted;
      },
    },
    {
      name: "sluice allow, integer keys",
      prepare: (ids) => Array.from(ids),
      run(chunk: number[]) {
        let admitted = 0;
        for (let nth = 0; nth < chunk.length; nth++) if (sluiceInteger.allow(chunk[nth] as number)) admitted++;
        return admitted;
      },
    },
    {
      name: `sluice allowMany(${BATCH}), integer keys`,
      prepare: (ids) => batches(Array.from(ids)),
      run(chunk: number[][]) {
        let admitted = 0;
        for (const keys of chunk) {
          sluiceInteger.allowMany(keys, undefined, into);
          for (let nth = 0; nth < BATCH; nth++) admitted += into[nth] as number;
        }
        return admitted;
      },
    },
    jsStrings(js, strings),
    {
      name: "JavaScript table, integer keys",
      prepare: (ids) => Array.from(ids),
      run(chunk: number[]) {
        let admitted = 0;
        for (let nth = 0; nth < chunk.length; nth++) if (jsInteger.allowInteger(chunk[nth] as number)) admitted++;
        return admitted;
      },
    },
    mapOfObjects(strings),
    rateLimiterFlexible(strings),
    limiterPackage(strings),
  ];
}

/** Those whose single steps can be timed: they answer at once. */
export function steadyContenders(keys: number): Contender[] {
  return [
    { name: "nothing", prepare: freshKeys, run: (chunk: string[]) => chunk.length },
    allowStrings(newLimiter(keys), freshKeys),
    jsStrings(new JsTable(policy.constants), freshKeys),
    mapOfObjects(freshKeys),
  ];
}

function newLimiter(keys: number): LocalLimiter {
  return createLimiter({ policy, design: local({ maxKeys: Math.max(2 * keys, 1000) }) });
}

function allowStrings(limiter: LocalLimiter, prepare: (ids: Float64Array) => string[]): Contender {
  return {
    name: "sluice allow",
    prepare,
    run(chunk: string[]) {
      let admitted = 0;
      for (let nth = 0; nth < chunk.length; nth++) if (limiter.allow(chunk[nth] as string)) admitted++;
      return admitted;
    },
    bytes: () => limiter.stats().bytes,
  };
}

function jsStrings(table: JsTable, prepare: (ids: Float64Array) => string[]): Contender {
  return {
    name: "JavaScript table",
    prepare,
    run(chunk: string[]) {
      let admitted = 0;
      for (let nth = 0; nth < chunk.length; nth++) if (table.allow(chunk[nth] as string)) admitted++;
      return admitted;
    },
    bytes: () => table.bytes,
  };
}

/** What one writes first: a Map of objects with tokens and the time of their last change. */
function mapOfObjects(prepare: (ids: Float64Array) => string[]): Contender {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const tokensPerMs = 1 / 600_000;
  const allow = (key: string) => {
    const now = Date.now();
    const bucket = buckets.get(key);
    if (bucket === undefined) {
      buckets.set(key, { tokens: BURST - 1, at: now });
      return true;
    }
    bucket.tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) * tokensPerMs);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };
  return {
    name: "Map of objects",
    prepare,
    run(chunk: string[]) {
      let admitted = 0;
      for (let nth = 0; nth < chunk.length; nth++) if (allow(chunk[nth] as string)) admitted++;
      return admitted;
    },
  };
}

function rateLimiterFlexible(prepare: (ids: Float64Array) => string[]): Contender {
  const limiter = new RateLimiterMemory({ points: BURST, duration: 600 });
  return {
    name: "rate-limiter-flexible",
    prepare,
    async run(chunk: string[]) {
      let admitted = 0;
      for (let nth = 0; nth < chunk.length; nth++) {
        await limiter.consume(chunk[nth]);
        admitted++;
      }
      return admitted;
    },
  };
}

/** The package has no keys: a limiter each, in a Map. */
function limiterPackage(prepare: (ids: Float64Array) => string[]): Contender {
  const limiters = new Map<string, RateLimiter>();
  return {
    name: "limiter",
    prepare,
    run(chunk: string[]) {
      let admitted = 0;
      for (let nth = 0; nth < chunk.length; nth++) {
        const key = chunk[nth] as string;
        let limiter = limiters.get(key);
        if (limiter === undefined) {
          limiter = new RateLimiter({ tokensPerInterval: BURST, interval: 600_000 });
          limiters.set(key, limiter);
        }
        if (limiter.tryRemoveTokens(1)) admitted++;
      }
      return admitted;
    },
  };
}
