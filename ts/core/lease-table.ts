import type { Ambient } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import { DENY_NEW, LEASE, OUT } from "./abi.ts";
import { CallArea } from "./call-area.ts";
import type { CoreExports } from "./exports.ts";
import { KeyBytes } from "./key-bytes.ts";

export interface LeaseTableOptions {
  /** Leases that the table holds at most. */
  most: number;
  /** Gives the seed of the keys' hash. */
  random: Ambient["random"];
}

/**
 * Tokens that keys may spend, in WASM: a call for each spending, which allocates nothing. Times are ms
 * of whatever clock its user goes by. It owns its instance of the core.
 */
export class LeaseTable {
  readonly #core: CoreExports;
  readonly #keys: KeyBytes;
  readonly #area: CallArea;

  /** @throws {LimiterError} "unsupported": there is no memory for it */
  constructor(core: CoreExports, { most, random }: LeaseTableOptions) {
    if (!core.openTable(LEASE, 0, most, DENY_NEW)) {
      throw new LimiterError("unsupported", "no memory for the table of leases");
    }
    this.#core = core;
    this.#area = new CallArea(core);
    this.#keys = new KeyBytes(core, this.#area);
    this.#keys.seed(random);
  }

  /**
   * Holds `tokens` for a key, in place of what it holds for it: to be spent before `end`, and not
   * down to `low`. False if there is no room.
   *
   * @param wholeAt  when the key's budget may be whole
   */
  lend(key: string, tokens: number, end: number, low: number, wholeAt: number): boolean {
    return this.#core.lendKey(this.#keys.write(key), tokens, end, low, wholeAt) !== 0;
  }

  /** Spends `cost` of what it holds for a key. False, and nothing is spent: that is not for the table to decide. */
  spend(key: string, now: number, cost: number): boolean {
    return this.#core.spendKey(this.#keys.write(key), now, cost) !== 0;
  }

  /** Takes back what is left of what it held for a key. */
  recall(key: string): number {
    return this.#core.recallKey(this.#keys.write(key));
  }

  /** After a spending: tokens left, and when the budget may be whole. */
  get left(): number {
    return this.#area.floats[OUT / 8 + 1] as number;
  }
  get wholeAt(): number {
    return this.#area.floats[OUT / 8 + 3] as number;
  }
}
