import type { LeaseTable } from "../core/lease-table.ts";
import type { LeaseReply, LeaseRequest } from "../ledger/messages.ts";
import { Hold, type Terms } from "./lease-hold.ts";

/**
 * A hold whose tokens are out in the WASM table between two looks at it: there calls take them
 * without asking here, until so few are left, or so much time has gone by, that the ledger must
 * hear of it. Whoever looks must recall them first.
 */
export class TabledHold extends Hold {
  readonly #key: string;
  readonly #table: LeaseTable;
  /** Tokens in the table, as they were when they went there. */
  #out = 0;

  /** @param key  whose table entry it is; for the others see Hold */
  constructor(terms: Terms, used: number, alone: number, key: string, table: LeaseTable) {
    super(terms, used, alone);
    this.#key = key;
    this.#table = table;
  }

  lend(now: number): void {
    const tokens = this.left(now);
    const low = this.askAt(now);
    const end = Math.min(this.end, this.askBy());
    // Not for a single one: it is as soon spent from here.
    if (this.#out > 0 || tokens - 1 <= low || now >= end) return;
    if (!this.#table.lend(this.#key, tokens, end, low, this.wholeAt)) return;
    this.#out = tokens;
    this.tokens = 0;
  }

  recall(now: number): void {
    if (this.#out === 0) return;
    const spent = this.#out - this.#table.recall(this.#key);
    this.tokens += this.#out;
    this.#out = 0;
    if (spent === 0) return;
    this.spend(spent);
    this.demandSince(spent, now);
  }

  override request(now: number, closing: boolean): LeaseRequest | undefined {
    this.recall(now);
    return super.request(now, closing);
  }

  override arrived(request: LeaseRequest, reply: LeaseReply, sentAt: number, now: number): void {
    this.recall(now);
    super.arrived(request, reply, sentAt, now);
  }
}
