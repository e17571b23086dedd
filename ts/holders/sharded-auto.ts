/** How often a key's number of shards changes at most, and how long it must be too many to become fewer. */
const GROW_MS = 2000;
const JOIN_MS = 5000;

/**
 * How many shards one holder spreads a key over, by what the ledger that it asks says of its load.
 *
 * 0 stands for home itself. Holders needn't agree: shards hold leases, so that any number of them
 * is as safe as any other, at every moment of a change. Since all of them hear of the same loads
 * they come to about the same number.
 */
export class Width {
  /** Shards now. */
  shards = 0;
  readonly #splitAt: number;
  readonly #most: number;
  #changedAt = Number.NEGATIVE_INFINITY;
  /** Since when fewer would do; null: they wouldn't. */
  #fewerSince: number | null = null;

  /**
   * @param splitAt  the load above which a ledger is split, requests a second
   * @param most     shards
   */
  constructor(splitAt: number, most: number) {
    this.#splitAt = splitAt;
    this.#most = most;
  }

  /** Takes up what a ledger said of its load. */
  heard(load: number, now: number): void {
    if (load > this.#splitAt) {
      this.#fewerSince = null;
      if (now - this.#changedAt < GROW_MS) return;
      const more = this.shards === 0 ? 2 ** Math.ceil(Math.log2((2 * load) / this.#splitAt)) : 2 * this.shards;
      this.#become(Math.min(more, this.#most), now);
    } else if (this.shards > 0 && load < this.#splitAt / 4) {
      this.#fewerSince ??= now;
      if (now - this.#fewerSince < JOIN_MS) return;
      // Each shard has its part of all; the sum is what home would have if they were joined.
      this.#become(load * this.shards < this.#splitAt / 2 ? 0 : Math.max(this.shards / 2, 2), now);
    } else this.#fewerSince = null;
  }

  #become(shards: number, now: number): void {
    if (shards === this.shards) return;
    this.shards = shards;
    this.#changedAt = now;
    this.#fewerSince = null;
  }
}
