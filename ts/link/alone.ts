import { guarded } from "../ledger/guard.ts";
import type { RightsRequest } from "../ledger/messages.ts";
import { SILENT_MS_MAX } from "../ledger/rights.ts";
import type { Share, Shares } from "./share.ts";

/** What the holders of a limiter do while they hear nothing from a ledger. */
export interface AloneTerms {
  /** Holders with rights to a key, at most. */
  pops: number;
  /** How long a holder hears nothing before it takes from its share; overdrafts grow for as long. */
  blindMs: number;
  /** Tokens by which an overdraft may grow in a ms; 0: there is none. */
  overdraftPerMs: number;
  /** undefined: it takes no share. */
  shares: Shares | undefined;
}

/**
 * What one holder admits on one key without having a token: its overdraft, and its share.
 *
 * The overdraft counts from when the last request was sent that was answered, the share from when
 * the answer came: each is what is safe. All times are monotonic ms of its own clock.
 */
export class Alone {
  readonly #terms: AloneTerms;
  /** Whether the ledger granted rights; and whether it may think so. */
  #right = false;
  #known = false;
  #asked = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #heard = 0;
  /** When the last answer came, and its request was sent. */
  #heardAt = 0;
  #sentAt = 0;
  #debt = 0;
  /** Totals, and what the last answered request told of them. */
  #overdrawn: number;
  #overdrawnTold: number;
  #shared: number;
  #share: Share | null = null;

  /** @param used  where to count from: no less than where an earlier one on the key ended */
  constructor(terms: AloneTerms, used: number) {
    this.#terms = terms;
    this.#overdrawn = used;
    this.#overdrawnTold = used;
    this.#shared = used;
  }

  /** Tokens admitted that no answered request has told of. */
  get untold(): number {
    return this.#overdrawn - this.#overdrawnTold;
  }

  /** Takes `cost` beyond what there is, as far as that goes. */
  overdraw(cost: number, now: number): boolean {
    if (!this.#hasRight(now) || cost > this.#mayOverdraw(now)) return false;
    this.#overdrawn += cost;
    return true;
  }

  /** Ms until overdraw(cost) succeeds; Infinity: not before the ledger is heard. */
  overdraftInMs(cost: number, now: number): number {
    const perMs = this.#terms.overdraftPerMs;
    const neededMs = perMs === 0 ? Number.POSITIVE_INFINITY : (cost + this.#debt + this.untold) / perMs;
    return this.#right && neededMs <= this.#terms.blindMs ? this.#sentAt + neededMs - now : Number.POSITIVE_INFINITY;
  }

  /** Takes `cost` from the holder's share, if it has been cut off long enough. */
  takeShare(cost: number, now: number): boolean {
    const { shares } = this.#terms;
    if (!shares || !this.#hasRight(now) || !this.isBlind(now)) return false;
    this.#share ??= shares.begin(this.#cutOffAt);
    if (!shares.take(this.#share, cost, now)) return false;
    this.#shared += cost;
    return true;
  }

  /** Whether nothing has been heard for so long that the ledger reserves the share, if there is one. */
  isBlind(now: number): boolean {
    return this.#heard > 0 && now >= this.#cutOffAt;
  }

  /** Whether the ledger should hear of it, so that it doesn't take it for cut off. */
  isDue(now: number): boolean {
    return this.#known && now - this.#askedAt >= this.#terms.blindMs / 3 && !this.#isOver(now);
  }

  /** Whether there is nothing to remember. */
  isIdle(now: number): boolean {
    return !this.#known || this.#isOver(now);
  }

  /** What to tell the ledger, which may be nothing. */
  request(now: number, keep: boolean): RightsRequest | undefined {
    if (!keep && !this.#known) return undefined;
    this.#asked++;
    this.#askedAt = now;
    this.#known = true;
    this.#right &&= keep;
    const { pops, blindMs, overdraftPerMs, shares } = this.#terms;
    return {
      pops,
      blindMs,
      share: shares !== undefined,
      overdraft: Math.floor(overdraftPerMs * blindMs),
      overdrawn: this.#overdrawn,
      shared: this.#shared,
      asked: this.#asked,
      heard: this.#heard,
      keep,
    };
  }

  /** Takes up what the ledger answered: undefined if it grants no rights. */
  arrived(request: RightsRequest, debt: number | undefined, sentAt: number, now: number): void {
    this.#known = this.#right = debt !== undefined;
    this.#heard = request.asked;
    this.#heardAt = now;
    this.#sentAt = sentAt;
    this.#debt = debt ?? 0;
    this.#overdrawnTold = request.overdrawn;
    this.#share = null;
  }

  get #cutOffAt(): number {
    return Math.ceil(this.#heardAt + guarded(this.#terms.blindMs));
  }

  #mayOverdraw(now: number): number {
    const { overdraftPerMs, blindMs } = this.#terms;
    return overdraftPerMs * Math.min(now - this.#sentAt, blindMs) - this.#debt - this.untold;
  }

  #hasRight(now: number): boolean {
    return this.#right && !this.#isOver(now);
  }

  /** Whether the ledger may have ended the rights. */
  #isOver(now: number): boolean {
    return now >= Math.max(this.#sentAt, this.#heard === 0 ? this.#askedAt : 0) + SILENT_MS_MAX;
  }
}
