import type { Policy } from "../contract.ts";
import type { LeaseReply, LeaseRequest } from "../ledger/messages.ts";
import { Alone, type AloneTerms } from "./alone.ts";

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
  /** What it does without the ledger; undefined: nothing. */
  alone?: AloneTerms | undefined;
  /** Present if calls never wait for the ledger: how soon it hears of them, at the latest. */
  eager?: { everyMs: number; maxUnsynced: number };
}

/** Demand, in tokens of half a ttl, from which on a key is worth a lease; and where calls never wait. */
const DEMAND_MIN = 2;
const DEMAND_MIN_EAGER = 0.05;

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
  /** Whether the ledger has ever answered. */
  known = false;
  readonly alone: Alone | undefined;
  /** Tokens of those above that are lent to others, and so must be kept. */
  lent = 0;
  #offersAll = false;
  protected readonly terms: Terms;
  /** Which lease it is. */
  #since: number | undefined;
  #used: number;
  /** What the last request told of that, and when it was made. */
  #told: number;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** Whether its last request has had no answer. */
  #awaiting = false;
  protected rttMs = 0;
  /** Tokens asked for, each fading with time; in a steady state those of the last half ttl. */
  #demand = 0;
  #demandAt = 0;

  /**
   * @param used   where to count what is used from: no less than where an earlier hold on the key
   *               ended, so that the ledger doesn't take its last tokens for returned ones
   * @param alone  the same for what is admitted without a lease
   */
  constructor(terms: Terms, used: number, alone = 0) {
    this.terms = terms;
    this.#used = used;
    this.#told = used;
    this.alone = terms.alone && new Alone(terms.alone, alone);
  }

  /** Someone asks for `cost`. */
  demand(cost: number, now: number): void {
    this.#demand = this.demandNow(now) + cost;
    this.#demandAt = now;
  }

  /** `cost` was asked for, evenly, since the last time that someone asked. */
  protected demandSince(cost: number, now: number): void {
    const half = Math.exp((this.#demandAt - now) / this.terms.ttlMs);
    this.#demand = this.#demand * half * half + cost * half;
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

  /** Whether there is something to give back, or may soon be: the ledger may grant it just now. */
  isHolding(now: number): boolean {
    const holds = now < this.end && this.tokens + this.later > 0;
    return holds || this.#awaiting || this.alone?.isIdle(now) === false;
  }

  /**
   * The ledger refused a call for `cost`, but maybe only because it keeps what is held here. If that
   * is too little for the call, all of it goes back with the next request, which is to ask again.
   * Returns whether it does.
   */
  offer(cost: number): boolean {
    const had = this.tokens + this.later;
    this.#offersAll = had > this.lent && cost > had;
    return this.#offersAll;
  }

  spend(cost: number): void {
    this.tokens -= cost;
    this.#used += cost;
  }

  /** Whether to ask for more, or for more time, before anyone has to wait. */
  isLow(now: number): boolean {
    return !this.fetching && this.later === 0 && now < this.end && this.tokens <= this.#lowNow(now);
  }

  #lowNow(now: number): number {
    const within = (2 * this.rttMs) / (this.terms.ttlMs / 2);
    return Math.min(this.low, Math.max(this.demandNow(now) * within, 1));
  }

  /** Whether the ledger should hear of what was admitted. */
  isUntold(now: number): boolean {
    const { eager } = this.terms;
    if (!eager || this.fetching) return false;
    return this.#untold() >= eager.maxUnsynced || now >= this.askBy();
  }

  #untold(): number {
    return this.#used - this.#told + (this.alone?.untold ?? 0);
  }

  /** How few tokens must be left for isLow or isUntold to ask the ledger; none: below zero. */
  protected askAt(now: number): number {
    if (this.fetching) return -1;
    const low = this.later === 0 ? this.#lowNow(now) : -1;
    const { eager } = this.terms;
    return eager ? Math.max(low, this.tokens - eager.maxUnsynced + this.#untold()) : low;
  }

  /** From when on isUntold asks it, whatever is left. */
  protected askBy(): number {
    const { eager } = this.terms;
    return eager && !this.fetching ? this.#askedAt + eager.everyMs : Number.POSITIVE_INFINITY;
  }

  /** Whether its tokens should be renewed or returned: they end soon, or are too many by now. */
  isDue(now: number): boolean {
    if (this.fetching) return false;
    if (this.alone?.isDue(now)) return true;
    if (now >= this.end || this.tokens + this.later === 0) return false;
    return this.end - now < this.terms.ttlMs / 3 || this.tokens > 2 * Math.max(this.need(now), this.lent);
  }

  /** Whether there is nothing to remember. */
  isIdle(now: number): boolean {
    const wanted = this.demandNow(now) >= (this.terms.eager ? DEMAND_MIN_EAGER : DEMAND_MIN / 2);
    // What is granted just now lasts a ttl, from the request on.
    const awaits = this.#awaiting && now < this.#askedAt + this.terms.ttlMs;
    if (this.fetching || awaits || wanted || this.alone?.isIdle(now) === false) return false;
    return this.tokens + this.later === 0 || now > this.end + 60_000;
  }

  /** What to tell the ledger. What isn't kept is not to be spent any more. */
  request(now: number, closing: boolean): LeaseRequest | undefined {
    if (this.left(now) === 0 && now >= this.end) this.later = 0;
    const had = this.tokens + this.later;
    const { ttlMs, block } = this.terms;
    const need = Math.max(closing ? 0 : this.need(now), this.lent);
    const keep = this.#offersAll ? this.lent : need;
    this.#offersAll = false;
    this.tokens = Math.max(Math.min(this.left(now), keep), 0);
    if (keep === 0) this.later = 0;
    const ask = Math.max(need - this.tokens - this.later, 0);
    const rights = this.alone?.request(now, need > 0);
    // Had the last one no answer, it may have got something all the same.
    if (had === 0 && ask === 0 && !rights && !this.#awaiting) return undefined;
    this.#told = this.#used;
    this.#askedAt = now;
    this.#awaiting = true;
    const request: LeaseRequest = { used: this.#used, held: this.tokens, later: this.later, ask, ttlMs };
    if (block !== undefined) request.block = block;
    if (rights) request.rights = rights;
    return request;
  }

  /** Takes up what the ledger answered to `request`. */
  arrived(request: LeaseRequest, reply: LeaseReply, sentAt: number, now: number): void {
    this.#awaiting = false;
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
    this.known = true;
    if (request.rights) this.alone?.arrived(request.rights, reply.debt, sentAt, now);
  }

  /** Tokens that it would like to have. */
  protected need(now: number): number {
    const demand = this.demandNow(now);
    // A key that is asked for now and then isn't worth a lease.
    return demand < (this.terms.eager ? DEMAND_MIN_EAGER : DEMAND_MIN) ? 0 : (this.terms.block ?? Math.ceil(demand));
  }
}
