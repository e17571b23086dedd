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
  /** Whether it was a plan's. */
  planCap: true | undefined;
  /** Of the plan above the ledger. */
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
  /** Which of them a plan gave, by its address. */
  readonly #capped = new Map<string, Set<string>>();
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
      this.#delete(address);
      return null;
    }
    const resetMs = Math.ceil(Math.max(denial.wholeAt, denial.until) - now);
    const refusal: Refusal = { admitted: false, remaining: 0, retryAfterMs: Math.ceil(denial.until - now), resetMs };
    if (denial.limit !== undefined) refusal.limit = denial.limit;
    if (denial.planCap) refusal.planCap = true;
    return refusal;
  }

  /**
   * Remembers that `cost` was refused, in answer to a request first sent at `sentAt`.
   * @param plan  the address of the plan above the ledger
   */
  add(address: string, cost: number, sentAt: number, answer: Refusal, plan?: string): void {
    const { retryAfterMs, resetMs, limit, planCap } = answer;
    if (retryAfterMs === null || this.#most === 0) return;
    this.#delete(address);
    if (this.#denials.size >= this.#most) this.#delete(this.#denials.keys().next().value as string);
    this.#denials.set(address, { cost, until: sentAt + retryAfterMs, wholeAt: sentAt + resetMs, limit, planCap, plan });
    if (!planCap || plan === undefined) return;
    this.#capped.set(plan, (this.#capped.get(plan) ?? new Set()).add(address));
  }

  /** Someone gave budget back: to a plan as well, if there is one. */
  forget(address: string, plan?: string): void {
    this.#delete(address);
    if (plan !== undefined) for (const capped of [...(this.#capped.get(plan) ?? [])]) this.#delete(capped);
  }

  clear(): void {
    this.#denials.clear();
    this.#capped.clear();
  }

  #delete(address: string): void {
    const plan = this.#denials.get(address)?.plan;
    this.#denials.delete(address);
    if (plan === undefined) return;
    const capped = this.#capped.get(plan);
    capped?.delete(address);
    if (capped?.size === 0) this.#capped.delete(plan);
  }
}
