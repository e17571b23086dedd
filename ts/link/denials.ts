import type { Outcome } from "../contract.ts";

/** A refusal as it is told to a caller. */
export interface Refusal extends Outcome {
  limit?: number;
  planCap?: true;
}

/** A refusal that a ledger gave. */
interface Denial {
  cost: number;
  /** The first moment at which the ledger may admit that cost, monotonic ms. */
  until: number;
  /** The first moment at which the budget may be whole. */
  wholeAt: number;
  /** The capacity of the policy that refused, if there are several. */
  limit: number | undefined;
  /** The address of the plan that refused, if it was one. */
  plan: string | undefined;
}

/**
 * Refusals remembered until their retryAfterMs is over, for costs no smaller than the refused.
 *
 * Nothing is lost by it: a level grows no faster than the rate, so that until then the ledger
 * would refuse as well, unless someone refunds, resets or raises the limit. The wait counts
 * from before the request was sent, and so ends no later than it does at the ledger.
 */
export class Denials {
  readonly #denials = new Map<string, Denial>();
  readonly #most: number;

  /** @param most  keys remembered, 0 for none; the oldest is forgotten for a new one */
  constructor(most: number) {
    this.#most = most;
  }

  /** What is known of a call; null: nothing, ask. Of what is left no more is known than that it is too little. */
  find(address: string, cost: number, now: number): Refusal | null {
    const denial = this.#denials.get(address);
    if (!denial || cost < denial.cost) return null;
    if (denial.until <= now) {
      this.#denials.delete(address);
      return null;
    }
    const resetMs = Math.ceil(Math.max(denial.wholeAt, denial.until) - now);
    const refusal: Refusal = { admitted: false, remaining: 0, retryAfterMs: Math.ceil(denial.until - now), resetMs };
    if (denial.limit !== undefined) refusal.limit = denial.limit;
    if (denial.plan !== undefined) refusal.planCap = true;
    return refusal;
  }

  /**
   * Remembers that `cost` was refused, in answer to a request first sent at `sentAt`.
   * @param plan  the address of the plan above the ledger
   */
  add(address: string, cost: number, sentAt: number, answer: Refusal, plan?: string): void {
    const { retryAfterMs, resetMs, limit, planCap } = answer;
    if (retryAfterMs === null || this.#most === 0) return;
    this.#denials.delete(address);
    if (this.#denials.size >= this.#most) this.#denials.delete(this.#denials.keys().next().value as string);
    const by = planCap && plan;
    this.#denials.set(address, { cost, until: sentAt + retryAfterMs, wholeAt: sentAt + resetMs, limit, plan: by });
  }

  /** Someone gave budget back: to the plan above it as well, if there is one. */
  forget(address: string, plan?: string): void {
    this.#denials.delete(address);
    if (plan === undefined) return;
    for (const [other, denial] of this.#denials) if (denial.plan === plan) this.#denials.delete(other);
  }

  clear(): void {
    this.#denials.clear();
  }
}
