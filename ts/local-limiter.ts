import type {
  Ambient,
  Bounds,
  Decision,
  LimitOptions,
  LocalKey,
  LocalLimiter,
  LocalStats,
  Outcome,
  Policy,
} from "./contract.ts";
import { checkKey } from "./core/key-bytes.ts";
import type { KeyTable } from "./core/table.ts";
import { badOption, requireInteger } from "./errors.ts";
import { checkCosts, costOf, KeyedLimiter } from "./limiter.ts";

/** The limiter over tables of this process: whatever can be asked without a promise. */
export class TableLimiter extends KeyedLimiter implements LocalLimiter {
  readonly #capacity: number;
  readonly #open: () => KeyTable;
  #opened: KeyTable | undefined;

  constructor(name: string, policies: readonly Policy[], ambient: Ambient, open: () => KeyTable) {
    super(name, policies, ambient);
    this.#capacity = (policies[0] as Policy).capacity;
    this.#open = open;
  }

  decide(key: LocalKey, options?: LimitOptions): Decision {
    return this.#decide(key, options, true);
  }

  limitSync(key: LocalKey, options?: LimitOptions): Decision {
    return this.#decide(key, options, true);
  }

  async peek(key: LocalKey, options?: LimitOptions): Promise<Decision> {
    return this.#decide(key, options, false);
  }

  async refund(key: LocalKey, count: number): Promise<Decision> {
    return this.#refund(key, requireInteger("count", count));
  }

  async reset(key: LocalKey): Promise<Decision> {
    return this.#refund(key, Number.POSITIVE_INFINITY);
  }

  allow(key: LocalKey, cost = 1): boolean {
    if (cost !== 1) requireInteger("cost", cost);
    return this.#table().take(key, this.now(), cost);
  }

  limitMany(keys: readonly LocalKey[], costs?: readonly number[]): Decision[] {
    checkBatch(keys, costs);
    const now = this.now();
    return this.#table()
      .decideMany(keys, now, costs)
      .map((outcome) => this.#decided(outcome, now));
  }

  allowMany(keys: readonly LocalKey[], costs?: readonly number[], into = new Uint8Array(keys.length)): Uint8Array {
    if (into.length < keys.length) throw badOption("into", into, `an array of at least ${keys.length} bytes`);
    checkBatch(keys, costs);
    this.#table().takeMany(keys, this.now(), costs, into);
    return into;
  }

  stats(): LocalStats {
    return this.#table().stats();
  }

  override async close(): Promise<void> {
    const closing = super.close();
    this.#opened = undefined;
    await closing;
  }

  /** Every other PoP admits as much again; a crash forgets what was used. */
  protected boundsAt(pops = 1): Bounds {
    const capacity = Math.min(...this.policies.map((policy) => policy.capacity));
    return {
      overshoot: (pops - 1) * capacity,
      stranded: 0,
      stalenessMs: 0,
      roundTripsPerAdmit: 0,
      writesPerAdmit: 0,
      crash: { overshoot: capacity, lost: 0 },
    };
  }

  #decide(key: LocalKey, options: LimitOptions | undefined, commit: boolean): Decision {
    const cost = costOf(options);
    const now = this.now();
    return this.#decided(this.#table().decide(key, now, cost, commit), now);
  }

  #refund(key: LocalKey, count: number): Decision {
    const now = this.now();
    return this.#decided(this.#table().refund(key, now, count), now);
  }

  #decided(outcome: Outcome, now: number): Decision {
    return this.decision(outcome, "local", now, this.#capacity);
  }

  /** The table, opened late: Workers have no randomness before the first request. */
  #table(): KeyTable {
    if (this.#opened !== undefined) return this.#opened;
    this.assertOpen();
    this.#opened = this.#open();
    return this.#opened;
  }
}

function checkBatch(keys: readonly LocalKey[], costs: readonly number[] | undefined): void {
  checkCosts(keys, costs);
  for (const cost of costs ?? []) requireInteger("cost", cost);
  for (const key of keys) checkKey(key);
}
