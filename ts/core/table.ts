import type { Ambient, LocalKey, LocalStats, Outcome, Policy } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import {
  ADMITTED,
  ALLOW_NEW,
  BATCH_MAX,
  CLAIM,
  COMMIT,
  COSTS,
  DENY_NEW,
  EVICT_FULLEST,
  FORMS,
  KEY_BYTES_MAX,
  OUT,
  POLICY,
  REPORT,
} from "./abi.ts";
import { CallArea } from "./call-area.ts";
import type { CoreExports } from "./exports.ts";
import { BINARY_BYTES, KeyBytes, NO_ROOM } from "./key-bytes.ts";
import { kindOf } from "./kinds.ts";

/** What a full table does with a new key. */
export type WhenFull = keyof typeof WHEN_FULL;

export interface TableOptions {
  /** Keys that the table holds at most, a positive integer of no more than keysMost(policy). */
  maxKeys: number;
  whenFull: WhenFull;
  /** Gives the seed of the keys' hash. */
  random: Ambient["random"];
}

/** What the core calls each. */
export const WHEN_FULL = { "deny-new": DENY_NEW, "allow-new": ALLOW_NEW, "evict-fullest": EVICT_FULLEST };

const MEMORY_BYTES_MAX = 2 ** 32;

/**
 * Bytes that a key takes at most once there are thousands: an entry of 16 bytes (a window: 24)
 * in pages that are never less than 60 % full, and a sliding window's runs.
 */
export function keyBytesMost({ stateCells }: Policy): number {
  // A bucket's state is one number and a fixed window's two; a sliding window's is beside the table.
  const runs = stateCells > 2 ? 8 * stateCells : 0;
  return Math.ceil((stateCells > 1 ? 24 : 16) / 0.6) + runs;
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
  /** Gives `count` tokens back, or all if it is Infinity; answers as `decide` of 1 without commit does. */
  refund(key: LocalKey, now: number, count: number): Outcome;
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
  readonly #area: CallArea;
  readonly #keys: KeyBytes;
  readonly #maxKeys: number;

  constructor(core: CoreExports, policy: Policy, { maxKeys, whenFull, random }: TableOptions) {
    this.#core = core;
    this.#decideKey = core.decideKey;
    this.#maxKeys = maxKeys;
    this.#area = new CallArea(core);
    this.#area.renew();
    this.#area.floats.set(policy.constants, POLICY / 8);
    if (!core.openTable(kindOf(policy), policy.stateCells, maxKeys, WHEN_FULL[whenFull])) {
      throw new LimiterError("unsupported", "no memory for the key table");
    }
    this.#keys = new KeyBytes(core, this.#area);
    this.#keys.seed(random);
  }

  /** Takes `cost` if it is there, and says whether it was. Allocates nothing. */
  take(key: LocalKey, now: number, cost: number): boolean {
    const decideKey = this.#decideKey;
    return decideKey(this.#keys.write(key), now, cost, COMMIT) !== 0;
  }

  decide(key: LocalKey, now: number, cost: number, commit: boolean): Outcome {
    const form = this.#keys.write(key);
    return this.#answer(this.#core.decideKey(form, now, cost, commit ? COMMIT | REPORT : REPORT));
  }

  /** As `decide` without commit; admitted, the same with commit will be too. */
  look(key: LocalKey, now: number, cost: number): Outcome {
    return this.#answer(this.#core.decideKey(this.#keys.write(key), now, cost, CLAIM | REPORT));
  }

  refund(key: LocalKey, now: number, count: number): Outcome {
    return this.#answer(this.#core.refundKey(this.#keys.write(key), now, count));
  }

  takeMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined, into: Uint8Array): void {
    for (let start = 0; start < keys.length; ) {
      const count = this.#batch(keys, start, costs, now, COMMIT);
      const { bytes } = this.#area;
      for (let nth = 0; nth < count; nth++) into[start + nth] = bytes[ADMITTED + nth] as number;
      start += count;
    }
  }

  decideMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined): Outcome[] {
    const outcomes: Outcome[] = [];
    while (outcomes.length < keys.length) {
      const count = this.#batch(keys, outcomes.length, costs, now, COMMIT | REPORT);
      for (let nth = 0; nth < count; nth++) {
        outcomes.push(this.#outcome(this.#area.bytes[ADMITTED + nth] === 1, OUT / 8 + 4 * nth));
      }
    }
    return outcomes;
  }

  stats(): LocalStats {
    return {
      keys: this.#core.held.value,
      maxKeys: this.#maxKeys,
      bytes: this.#core.memory.buffer.byteLength,
      deniedNew: this.#core.denied.value,
      allowedNew: this.#core.allowed.value,
      evicted: this.#core.evicted.value,
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
    this.#area.renew();
    const { floats } = this.#area;
    const most = Math.min(keys.length - start, BATCH_MAX);
    let offset = 0;
    let count = 0;
    for (; count < most && offset <= KEY_BYTES_MAX - BINARY_BYTES; count++) {
      const form = this.#keys.write(keys[start + count] as LocalKey, offset);
      if (form === NO_ROOM) break;
      floats[FORMS / 8 + count] = form;
      floats[COSTS / 8 + count] = costs === undefined ? 1 : (costs[start + count] as number);
      offset += ((form >>> 2) + 9) & ~7;
    }
    this.#core.decideBatch(count, now, mode);
    this.#area.renew();
    return count;
  }

  #answer(admitted: number): Outcome {
    this.#area.renew();
    return this.#outcome(admitted !== 0, OUT / 8);
  }

  #outcome(admitted: boolean, at: number): Outcome {
    const { floats } = this.#area;
    const retryAfterMs = floats[at + 2] as number;
    return {
      admitted,
      remaining: floats[at + 1] as number,
      retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
      resetMs: floats[at + 3] as number,
    };
  }
}
