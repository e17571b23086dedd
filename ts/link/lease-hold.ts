import type { Policy } from "../contract.ts";
import type { LeaseReply, LeaseRequest } from "../ledger/messages.ts";

export const TTL_MS_MIN = 500;
const TTL_MS_DEFAULT = 5000;

/** How long a lease lasts unless that is said. */
export function defaultTtlMs(policies: readonly Policy[]): number {
  const tenths = policies.map(({ spec }) => (spec.kind === "slidingWindow" ? spec.window / 10 : TTL_MS_DEFAULT));
  return Math.max(Math.floor(Math.min(TTL_MS_DEFAULT, ...tenths)), TTL_MS_MIN);
}

/** What a holder would like of every key's lease. */
export interface Terms {
  ttlMs: number;
  /** Tokens of a lease; undefined: as demand has it. */
  block: number | undefined;
}

/**
 * What one holder has of one key's budget: the tokens of its lease, and what it expects to need.
 *
 * All times are monotonic ms of the holder's own clock. A lease counts from before the request
 * was sent that it answers, so that it ends here before it does at the ledger.
 */
export class Hold {
  /** Tokens to spend before `end`. */
  tokens = 0;
  end = Number.NEGATIVE_INFINITY;
  /** Tokens that join them at `laterAt`. */
  later = 0;
  laterAt = 0;
  /** Asks for more when no more tokens than this are left. */
  low = 0;
  /** When the budget may be whole. */
  wholeAt = 0;
  /** Whether a request that nobody waits for is on its way. */
  fetching = false;
  /** Tokens of those above that are lent to others, and so must be kept. */
  lent = 0;
  protected readonly terms: Terms;
  /** Which lease it is. */
  #since: number | undefined;
  #used: number;
  protected rttMs = 0;
  /** Tokens asked for, each fading with time; in a steady state those of the last half ttl. */
  #demand = 0;
  #demandAt = 0;

  /**
   * @param used  where to count what is used from: no less than where an earlier hold on the key
   *              ended, so that the ledger doesn't take its last tokens for returned ones
   */
  constructor(terms: Terms, used: number) {
    this.terms = terms;
    this.#used = used;
  }

  /** Someone asks for `cost`. */
  demand(cost: number, now: number): void {
    this.#demand = this.demandNow(now) + cost;
    this.#demandAt = now;
  }

  protected demandNow(now: number): number {
    return this.#demand * Math.exp((this.#demandAt - now) / (this.terms.ttlMs / 2));
  }

  /** Tokens that there are to spend. */
  left(now: number): number {
    if (this.later > 0 && now >= this.laterAt) {
      this.tokens += this.later;
      this.low = this.later / 2;
      this.later = 0;
    }
    return now < this.end ? this.tokens : 0;
  }

  spend(cost: number): void {
    this.tokens -= cost;
    this.#used += cost;
  }

  /** Whether to ask for more, or for more time, before anyone has to wait. */
  isLow(now: number): boolean {
    if (this.fetching || this.later > 0 || now >= this.end) return false;
    const within = (2 * this.rttMs) / (this.terms.ttlMs / 2);
    return this.tokens <= Math.min(this.low, Math.max(this.demandNow(now) * within, 1));
  }

  /** Whether its tokens should be renewed or returned: they end soon, or are too many by now. */
  isDue(now: number): boolean {
    if (this.fetching || now >= this.end || this.tokens + this.later === 0) return false;
    return this.end - now < this.terms.ttlMs / 3 || this.tokens > 2 * Math.max(this.need(now), this.lent);
  }

  /** Whether there is nothing to remember. */
  isIdle(now: number): boolean {
    return !this.fetching && this.demandNow(now) < 1 && (this.tokens + this.later === 0 || now > this.end + 60_000);
  }

  /** What to tell the ledger. What isn't kept is not to be spent any more. */
  request(now: number, closing: boolean): LeaseRequest | undefined {
    if (this.left(now) === 0 && now >= this.end) this.later = 0;
    const had = this.tokens + this.later;
    const { ttlMs, block } = this.terms;
    const need = Math.max(closing ? 0 : this.need(now), this.lent);
    this.tokens = Math.max(Math.min(this.left(now), need), 0);
    if (need === 0) this.later = 0;
    const ask = Math.max(need - this.tokens - this.later, 0);
    if (had === 0 && ask === 0) return undefined;
    const request: LeaseRequest = { used: this.#used, held: this.tokens, later: this.later, ask, ttlMs };
    if (block !== undefined) request.block = block;
    return request;
  }

  /** Takes up what the ledger answered to `request`. */
  arrived(request: LeaseRequest, reply: LeaseReply, sentAt: number, now: number): void {
    const rttMs = now - sentAt;
    this.rttMs = this.rttMs === 0 ? rttMs : this.rttMs + (rttMs - this.rttMs) / 4;
    const begun = request.later > 0 && this.later === 0;
    const spent = this.#used - request.used;
    this.tokens = Math.max(reply.tokens + (begun ? reply.later : 0) - spent, 0);
    if (!begun) this.later = reply.later;
    if (request.later === 0) this.laterAt = now + reply.startsInMs;
    this.low = this.tokens / 2;
    const end = sentAt + reply.ttlMs;
    this.end = reply.since === this.#since ? Math.max(this.end, end) : end;
    this.#since = reply.since;
    this.wholeAt = now + reply.resetMs;
  }

  /** Tokens that it would like to have. */
  protected need(now: number): number {
    const demand = this.demandNow(now);
    // A key that is asked for now and then isn't worth a lease.
    return demand < 2 ? 0 : (this.terms.block ?? Math.ceil(demand));
  }
}
