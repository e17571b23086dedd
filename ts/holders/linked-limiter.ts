import type { Ambient, Bounds, Decision, Key, LimitOptions, Op, Policy } from "../contract.ts";
import type { Answer } from "../designs/design.ts";
import { LimiterError, requireInteger } from "../errors.ts";
import type { TermsOf } from "../ledger/terms.ts";
import { checkCosts, costOf, KeyedLimiter } from "../limiter.ts";
import type { Holder } from "./holder.ts";

/** The limiter over a holder: it may have to ask, and so makes promises. */
export class LinkedLimiter extends KeyedLimiter {
  readonly #holder: Holder;
  readonly #terms: TermsOf;
  readonly #counts = { admitted: 0, denied: 0 };
  #closing: Promise<void> | undefined;

  constructor(name: string, policies: readonly Policy[], ambient: Ambient, holder: Holder, terms: TermsOf) {
    super(name, policies, ambient);
    this.#holder = holder;
    this.#terms = terms;
  }

  decide(key: Key, options?: LimitOptions): Decision | Promise<Decision> {
    const cost = costOf(options);
    const encoded = this.#encoded(key);
    // Read before: the next answer at hand takes the place of this one, and a clock may be anyone's.
    const now = this.now();
    const atHand = this.#holder.atHand?.(encoded, cost);
    return atHand ? this.#decided(encoded, atHand, now, true) : this.#ask(encoded, ["take", cost]);
  }

  override policiesOf(key: Key): readonly Policy[] {
    return this.#terms.ofKey(this.#terms.encode(key)).policies;
  }

  limitSync(): Decision {
    throw new LimiterError("unsupported", "limitSync needs local(); use decide");
  }

  limitMany(keys: readonly Key[], costs?: readonly number[]): Promise<Decision[]> {
    checkCosts(keys, costs);
    return Promise.all(keys.map((key, index) => this.limit(key, costs && { cost: costs[index] as number })));
  }

  stats(): Record<string, number> {
    return { ...this.#counts, ...this.#holder.stats() };
  }

  override close(): Promise<void> {
    this.#closing ??= super.close().then(() => this.#holder.close());
    return this.#closing;
  }

  async peek(key: Key, options?: LimitOptions): Promise<Decision> {
    return this.#ask(this.#encoded(key), ["peek", costOf(options)]);
  }

  async refund(key: Key, count: number): Promise<Decision> {
    return this.#ask(this.#encoded(key), ["refund", requireInteger("count", count)]);
  }

  async reset(key: Key): Promise<Decision> {
    return this.#ask(this.#encoded(key), ["reset"]);
  }

  protected boundsAt(pops: number | undefined): Bounds {
    return this.#holder.bounds(pops);
  }

  #encoded(key: Key): string {
    this.assertOpen();
    return this.#terms.encode(key);
  }

  async #ask(encoded: string, op: Op): Promise<Decision> {
    // A clock that tells no time must not cost anything.
    this.now();
    const answer = await this.#holder.ask(encoded, op);
    // The answer may have taken a while, and its durations count from its arrival.
    return this.#decided(encoded, answer, this.now(), op[0] === "take");
  }

  #decided(encoded: string, answer: Answer, now: number, takes: boolean): Decision {
    const { capacity } = this.#terms.ofKey(encoded).policies[0] as Policy;
    const decision = this.decision(answer, answer.source, now, capacity);
    if (answer.unreachable) decision.reason = "unreachable";
    else if (answer.planCap && decision.reason === "limited") decision.reason = "plan_cap";
    if (takes) this.#counts[answer.admitted ? "admitted" : "denied"]++;
    return decision;
  }
}
