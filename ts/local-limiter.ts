import type {
  Ambient,
  Bounds,
  Decision,
  LimitOptions,
  LocalKey,
  LocalLimiter,
  LocalStats,
  Op,
  Policy,
} from "./contract.ts";
import { checkKey } from "./core/key-bytes.ts";
import type { KeyTable } from "./core/table.ts";
import { answer, boundsOf, locally } from "./designs/local.ts";
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
    return this.#decide(key, ["take", costOf(options)]);
  }

  limitSync(key: LocalKey, options?: LimitOptions): Decision {
    return this.decide(key, options);
  }

  allow(key: LocalKey, cost = 1): boolean {
    if (cost !== 1) requireInteger("cost", cost, 1, Number.MAX_SAFE_INTEGER);
    return this.#table().take(key, this.now(), cost);
  }

  limitMany(keys: readonly LocalKey[], costs?: readonly number[]): Decision[] {
    checkBatch(keys, costs);
    const now = this.now();
    return this.#table()
      .decideMany(keys, now, costs)
      .map((outcome) => this.decision(locally(outcome), now, this.#capacity));
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
    await super.close();
    this.#opened = undefined;
  }

  protected boundsAt(pops = 1): Bounds {
    return boundsOf(this.policies, pops);
  }

  protected async ask(key: LocalKey, opOf: () => Op): Promise<Decision> {
    return this.#decide(key, opOf());
  }

  #decide(key: LocalKey, op: Op): Decision {
    const now = this.now();
    return this.decision(answer(this.#table(), key, op, now), now, this.#capacity);
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
  for (const cost of costs ?? []) requireInteger("cost", cost, 1, Number.MAX_SAFE_INTEGER);
  for (const key of keys) checkKey(key);
}
