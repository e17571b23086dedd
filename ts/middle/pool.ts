import { type Budget, settle } from "../ledger/leases.ts";
import type { LeaseReply, LeaseRequest, LedgerRequest } from "../ledger/messages.ts";
import type { Lease } from "../ledger/state.ts";
import { Hold } from "../link/lease-hold.ts";

/**
 * What a middle ledger has of one key's budget: the tokens of its lease at home, some of which it
 * has leased on. To home it is a holder's hold; to its own holders, a budget.
 *
 * A lease on lasts no longer than the one at home, by the clock that this side counts it on. What
 * a holder doesn't report by then counts as used, here and so at home.
 */
export class Pool extends Hold implements Budget {
  readonly allowance = Number.POSITIVE_INFINITY;
  /** What is leased on. Ends are monotonic ms. */
  leases: Lease[] = [];
  firstEndMs = 0;
  readonly #monotonic: () => number;
  readonly #spent: (tokens: number) => void;
  #askedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param ttlMs  how long it leases tokens for, if its holders' own leases are no longer
   * @param used   see Hold
   * @param spent  is told of tokens that count as used
   */
  constructor(ttlMs: number, used: number, monotonic: () => number, spent: (tokens: number) => void) {
    super({ ttlMs, block: undefined }, used);
    this.#monotonic = monotonic;
    this.#spent = spent;
  }

  get leased(): number {
    return this.lent;
  }

  set leased(tokens: number) {
    this.lent = tokens;
  }

  book(tokens: number): void {
    this.spend(tokens);
    this.#spent(tokens);
  }

  free(): number {
    return this.left(this.#monotonic()) - this.lent;
  }

  waitFor(tokens: number): number | null {
    const missing = tokens - this.free();
    if (missing <= 0) return 0;
    return missing <= this.later ? Math.max(this.laterAt - this.#monotonic(), 0) : null;
  }

  resetMs(now: number): number {
    return Math.max(Math.ceil(this.wholeAt - now), 0);
  }

  leasable(): number {
    return this.left(this.#monotonic()) + this.later;
  }

  refill(ms: number): number {
    return this.laterAt - this.#monotonic() <= ms ? this.later : 0;
  }

  longestMs(now: number): number {
    return Math.max(this.end - now, 0);
  }

  /** Takes what nobody else has; false: there is too little. */
  take(cost: number): boolean {
    if (this.free() < cost) return false;
    this.book(cost);
    return true;
  }

  /** Counts what ended unreported as used. */
  forfeitEnded(now: number): void {
    if (!this.leases.some(({ end }) => end <= now)) return;
    for (const { tokens, end } of this.leases) if (end <= now) this.book(tokens);
    this.leases = this.leases.filter(({ end }) => end > now);
    this.lent = this.leases.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** Takes up what a holder reports and returns. */
  settle(request: LedgerRequest, now: number): void {
    const { sync } = request;
    if (sync) this.terms.ttlMs = Math.max(this.terms.ttlMs, sync.ttlMs);
    const { others, own, kept } = settle(this, this.leases, request, now);
    if (!own || !sync) return;
    this.leases = [...others, { ...own, tokens: kept, used: Math.max(own.used, sync.used) }];
  }

  override isLow(now: number): boolean {
    if (this.fetching || this.later > 0 || now >= this.end || now < this.#askedAt + this.terms.ttlMs / 16) return false;
    const soon = (2 * this.rttMs) / (this.terms.ttlMs / 2);
    return this.free() <= Math.min(this.low, Math.max(this.demandNow(now) * soon, this.#wants() / 2, 1));
  }

  override isIdle(now: number): boolean {
    return this.leases.length === 0 && super.isIdle(now);
  }

  override request(now: number, closing: boolean): LeaseRequest | undefined {
    this.#askedAt = now;
    this.forfeitEnded(now);
    return super.request(now, closing);
  }

  override arrived(request: LeaseRequest, reply: LeaseReply, sentAt: number, now: number): void {
    super.arrived(request, reply, sentAt, now);
    this.low = Math.max(this.free(), 0) / 2;
  }

  /** What it leases on, as much again for those who come next, and what is taken here. */
  protected override need(now: number): number {
    return super.need(now) + 2 * this.#wants();
  }

  #wants(): number {
    return this.leases.reduce((sum, { want }) => sum + want, 0);
  }
}
