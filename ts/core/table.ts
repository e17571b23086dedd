import type { Ambient, LocalKey, LocalStats, Outcome, Policy } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import type { CoreExports } from "./exports.ts";
import { KeyBytes, NO_ROOM } from "./key-bytes.ts";

/** What a full table does with a new key. */
export type WhenFull = "deny-new" | "allow-new" | "evict-fullest";

export interface TableOptions {
  /** Keys that the table holds at most, a positive integer of no more than keysMost(policy). */
  maxKeys: number;
  whenFull: WhenFull;
  /** Gives the seed of the keys' hash. */
  random: Ambient["random"];
}

const MEMORY_BYTES_MAX = 2 ** 32;

/**
 * Bytes that a key takes at most once there are thousands: an entry of 16 bytes (a window: 24)
 * in pages that are never less than 60 % full, and a sliding window's runs.
 */
export function keyBytesMost(policy: Policy): number {
  const bucket = policy.kind === "tokenBucket";
  const runs = policy.kind === "slidingWindow" ? 8 * policy.stateCells : 0;
  return Math.ceil((bucket ? 16 : 24) / 0.6) + runs;
}

/** Keys that fit into the memory that an instance can have, 4 GiB. */
export function keysMost(policy: Policy): number {
  return Math.floor((0.9 * MEMORY_BYTES_MAX) / keyBytesMost(policy));
}

/**
 * Many keys of this process. Times are whole ms since the Unix epoch, and never less than in the
 * call before.
 */
export interface KeyTable {
  /** Takes `cost` if it is there, and says whether it was. */
  take(key: LocalKey, now: number, cost: number): boolean;
  /** Decides `cost`, and takes it if `commit`. */
  decide(key: LocalKey, now: number, cost: number, commit: boolean): Outcome;
  /** Gives `count` tokens back; answers as `decide` of 1 without commit does. */
  refund(key: LocalKey, now: number, count: number): Outcome;
  /** Makes the key's budget whole; answers as `decide` of 1 without commit does. */
  reset(key: LocalKey, now: number): Outcome;
  /** As `take` for each key in order, but faster: writes 1 to `into` where admitted, else 0. */
  takeMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined, into: Uint8Array): void;
  /** As `decide` with commit for each key in order, but faster. */
  decideMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined): Outcome[];
  stats(): LocalStats;
}

/** The WASM key table: a call for each decision under one policy. It owns its instance of the core. */
export class Table implements KeyTable {
  readonly #core: CoreExports;
  readonly #decideKey: CoreExports["decideKey"];
  readonly #keys: KeyBytes;
  readonly #maxKeys: number;
  readonly #take: number;
  readonly #takeAndReport: number;
  readonly #peek: number;
  readonly #batchMax: number;
  readonly #outAt: number;
  readonly #batchAt: number;
  readonly #costsAt: number;
  readonly #formsAt: number;
  readonly #admittedAt: number;
  #floats: Float64Array;
  #words: Uint32Array;
  #bytes: Uint8Array;

  constructor(core: CoreExports, policy: Policy, { maxKeys, whenFull, random }: TableOptions) {
    this.#core = core;
    this.#decideKey = core.decideKey;
    this.#maxKeys = maxKeys;
    const kinds = {
      tokenBucket: core.TOKEN_BUCKET,
      fixedWindow: core.FIXED_WINDOW,
      slidingWindow: core.SLIDING_WINDOW,
    };
    const behaviours = { "deny-new": core.DENY_NEW, "allow-new": core.ALLOW_NEW, "evict-fullest": core.EVICT_FULLEST };
    new Float64Array(core.memory.buffer, core.policyAt.value).set(policy.constants);
    const opened =
      core.openKeys() &&
      core.openBatch() &&
      core.openTable(kinds[policy.kind].value, policy.stateCells, maxKeys, behaviours[whenFull].value);
    if (!opened) throw new LimiterError("unsupported", "no memory for the key table");
    this.#keys = new KeyBytes(core);
    this.#batchAt = core.batchAt.value;
    this.#keys.seed(random);
    this.#peek = core.REPORT.value;
    this.#take = core.COMMIT.value;
    this.#takeAndReport = this.#take | this.#peek;
    this.#batchMax = core.BATCH_MAX.value;
    this.#outAt = core.outAt.value >>> 3;
    this.#costsAt = (this.#batchAt + core.BATCH_COSTS.value) >>> 3;
    this.#formsAt = (this.#batchAt + core.BATCH_FORMS.value) >>> 2;
    this.#admittedAt = this.#batchAt + core.BATCH_ADMITTED.value;
    this.#floats = new Float64Array(core.memory.buffer);
    this.#words = new Uint32Array(core.memory.buffer);
    this.#bytes = new Uint8Array(core.memory.buffer);
  }

  /** Takes `cost` if it is there, and says whether it was. Allocates nothing. */
  take(key: LocalKey, now: number, cost: number): boolean {
    const decideKey = this.#decideKey;
    return decideKey(this.#keys.write(key), now, cost, this.#take) !== 0;
  }

  decide(key: LocalKey, now: number, cost: number, commit: boolean): Outcome {
    const form = this.#keys.write(key);
    return this.#answer(this.#core.decideKey(form, now, cost, commit ? this.#takeAndReport : this.#peek));
  }

  refund(key: LocalKey, now: number, count: number): Outcome {
    return this.#answer(this.#core.refundKey(this.#keys.write(key), now, count));
  }

  reset(key: LocalKey, now: number): Outcome {
    return this.#answer(this.#core.resetKey(this.#keys.write(key), now));
  }

  takeMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined, into: Uint8Array): void {
    for (let start = 0; start < keys.length; ) {
      const count = this.#batch(keys, start, costs, now, this.#take);
      const bytes = this.#bytes;
      for (let nth = 0; nth < count; nth++) into[start + nth] = bytes[this.#admittedAt + nth] as number;
      start += count;
    }
  }

  decideMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined): Outcome[] {
    const outcomes: Outcome[] = [];
    while (outcomes.length < keys.length) {
      const count = this.#batch(keys, outcomes.length, costs, now, this.#takeAndReport);
      for (let nth = 0; nth < count; nth++) {
        outcomes.push(this.#outcome(this.#bytes[this.#admittedAt + nth] === 1, (this.#batchAt >>> 3) + 4 * nth));
      }
    }
    return outcomes;
  }

  stats(): LocalStats {
    return {
      keys: this.#core.keysHeld(),
      maxKeys: this.#maxKeys,
      bytes: this.#core.memory.buffer.byteLength,
      deniedNew: this.#core.timesDenied(),
      allowedNew: this.#core.timesAllowed(),
      evicted: this.#core.timesEvicted(),
    };
  }

  /** Decides on as many keys from `start` as fit into one call; returns how many. */
  #batch(
    keys: readonly LocalKey[],
    start: number,
    costs: readonly number[] | undefined,
    now: number,
    mode: number,
  ): number {
    this.#renewViews();
    const forms = this.#words;
    const floats = this.#floats;
    const most = Math.min(keys.length - start, this.#batchMax);
    let offset = 0;
    let count = 0;
    for (; count < most; count++) {
      const form = this.#keys.write(keys[start + count] as LocalKey, offset);
      if (form === NO_ROOM) break;
      forms[this.#formsAt + count] = form;
      floats[this.#costsAt + count] = costs === undefined ? 1 : (costs[start + count] as number);
      offset += ((form >>> 2) + 9) & ~7;
    }
    this.#core.decideBatch(count, now, mode);
    this.#renewViews();
    return count;
  }

  #answer(admitted: number): Outcome {
    this.#renewViews();
    return this.#outcome(admitted !== 0, this.#outAt);
  }

  #outcome(admitted: boolean, at: number): Outcome {
    const retryAfterMs = this.#floats[at + 2] as number;
    return {
      admitted,
      remaining: this.#floats[at + 1] as number,
      retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
      resetMs: this.#floats[at + 3] as number,
    };
  }

  /** A memory that is not shared leaves empty views behind when it grows. */
  #renewViews(): void {
    if (this.#floats.length > 0) return;
    this.#floats = new Float64Array(this.#core.memory.buffer);
    this.#words = new Uint32Array(this.#core.memory.buffer);
    this.#bytes = new Uint8Array(this.#core.memory.buffer);
  }
}
