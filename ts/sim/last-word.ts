/** The last word that a holder has heard from its ledger, and how old that is. */
export class LastWord {
  readonly #now: () => number;
  /** When the ledger first answered a request: a retry has the same answer. */
  readonly #said = new Map<number, number>();
  #heard = Number.NEGATIVE_INFINITY;

  /** @param now  the true time, ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The request with that seq is at the ledger. */
  said(seq: number): void {
    if (!this.#said.has(seq)) this.#said.set(seq, this.#now());
  }

  /** Its answer is at the holder. */
  heard(seq: number): void {
    this.#heard = Math.max(this.#heard, this.#said.get(seq) as number);
  }

  /** Infinity: it has heard nothing yet. */
  get ageMs(): number {
    return this.#now() - this.#heard;
  }
}
