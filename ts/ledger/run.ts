import type { Policy } from "../contract.ts";
import type { Meter } from "../core/meter.ts";
import { book, untilWholeMs } from "./books.ts";
import { guarded } from "./guard.ts";
import type { Budget } from "./leases.ts";
import { PEEK, REFUND, RESET, TAKE } from "./messages.ts";

/** The arithmetic that a ledger works with: one meter for each of several policies. */
export type Meters = (index: number) => Meter;

/** The ops of one request, applied to the loaded meters one after the other. */
export class Run implements Budget {
  readonly outcomes: number[] = [];
  changed = false;
  freed = false;
  admitted = 0;
  /** Tokens that were counted as used without a take, and that were given back. */
  booked = 0;
  back = 0;
  allowance = Number.POSITIVE_INFINITY;
  /** Takes that nothing but the allowance refused, by their place among the ops. */
  readonly capped: number[] = [];
  leased = 0;
  /** Tokens that were admitted beyond each policy, and are reserved until it can pay. */
  readonly debts: number[];
  firstEndMs = 0;
  readonly #meters: Meters;
  readonly #policies: readonly Policy[];
  readonly #known: boolean;
  #shares: (policy: Policy, inMs: number) => number = () => 0;
  #ops = 0;

  /** @param debts  of each policy, as the meters were loaded */
  constructor(meters: Meters, policies: readonly Policy[], known: boolean, debts: number[]) {
    this.#meters = meters;
    this.#policies = policies;
    this.#known = known;
    this.debts = debts;
  }

  apply(kind: number, amount: number, now: number): void {
    if (!Number.isSafeInteger(amount) || amount < 1)
      throw new RangeError(`op amount must be a positive integer; got ${amount}`);
    if (kind === TAKE) this.#take(amount);
    else if (kind === REFUND) this.#refund(amount);
    else if (kind === RESET) this.#reset(now);
    else if (kind === PEEK) this.#look(amount);
    else throw new RangeError(`op kind must be ${TAKE}, ${PEEK}, ${REFUND} or ${RESET}; got ${kind}`);
    this.#ops++;
  }

  /** When every policy's budget will be whole. */
  wholeAt(now: number): number {
    let latest = now;
    for (let index = 0; index < this.#policies.length; index++) {
      this.#meters(index).decide(1, false);
      latest = Math.max(latest, now + this.#meters(index).resetMs);
    }
    return latest;
  }

  resetMs(now: number): number {
    return this.wholeAt(now) - now;
  }

  book(tokens: number): void {
    this.booked += tokens;
    this.bookEach(() => tokens);
  }

  /** The same, with a number for each policy. */
  bookEach(tokens: (policy: Policy) => number): void {
    for (let index = 0; index < this.#policies.length; index++) {
      this.debts[index] = (this.debts[index] ?? 0) + book(this.#meters(index), tokens(this.#policies[index] as Policy));
    }
  }

  /** Reserves so many tokens of each policy besides those that are leased: now, and in so many ms. */
  reserve(shares: (policy: Policy, inMs: number) => number): void {
    this.#shares = shares;
  }

  #reserved(index: number, inMs = 0): number {
    return this.leased + this.#shares(this.#policies[index] as Policy, inMs) + (this.debts[index] ?? 0);
  }

  free(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#policies.length; index++) {
      this.#meters(index).decide(1, false);
      least = Math.min(least, this.#meters(index).remaining - this.#reserved(index));
    }
    return least;
  }

  waitFor(tokens: number, withinMs: number): number | null {
    // What shares yield by then is not to be had by then.
    const then = guarded(withinMs);
    let longest = 0;
    for (let index = 0; index < this.#policies.length; index++) {
      const meter = this.#meters(index);
      meter.decide(tokens + this.#reserved(index, then), false);
      if (meter.retryAfterMs < 0) return null;
      longest = Math.max(longest, meter.retryAfterMs);
    }
    return longest;
  }

  /** Half of the budget: the other half is always left to whoever asks. */
  leasable(): number {
    return Math.floor(Math.min(...this.#policies.map(({ capacity }) => capacity)) / 2);
  }

  refill(ms: number): number {
    return Math.min(...this.#policies.map((policy) => refillOf(policy, ms)));
  }

  /** No longer than each fixed window. */
  longestMs(now: number): number {
    const each = this.#policies.map(({ spec }) =>
      spec.kind === "fixedWindow" ? spec.window - 1 - (now % spec.window) : Number.POSITIVE_INFINITY,
    );
    return Math.min(...each);
  }

  /** All policies admit it, or none is charged. */
  #take(cost: number): void {
    if (cost > this.allowance) {
      if (this.#look(cost)) this.capped.push(this.#ops);
      return;
    }
    const several = this.#policies.length > 1;
    if (several && !this.#look(cost)) return;
    if (several) this.outcomes.length -= 4 * this.#policies.length;
    let admitted = true;
    for (let index = 0; index < this.#policies.length; index++) admitted = this.#decide(index, cost, true);
    if (!admitted) return;
    this.allowance -= cost;
    this.admitted += cost;
    this.changed = true;
  }

  #refund(count: number): void {
    for (let index = 0; index < this.#policies.length; index++) {
      const owed = Math.min(this.debts[index] ?? 0, count);
      this.debts[index] = (this.debts[index] ?? 0) - owed;
      if (count > owed) this.#meters(index).refund(count - owed);
    }
    this.back += count;
    this.changed ||= this.#known;
    this.freed ||= this.changed;
    this.#look(1);
  }

  #reset(now: number): void {
    for (const [index, policy] of this.#policies.entries()) this.#meters(index).load(policy, null, now);
    this.debts.fill(0);
    this.changed ||= this.#known;
    this.freed ||= this.changed;
    this.#look(1);
  }

  #look(cost: number): boolean {
    let all = true;
    for (let index = 0; index < this.#policies.length; index++) all = this.#decide(index, cost, false) && all;
    return all;
  }

  #decide(index: number, cost: number, commit: boolean): boolean {
    const meter = this.#meters(index);
    const reserved = this.#reserved(index);
    if (reserved === 0) {
      const admitted = meter.decide(cost, commit);
      this.outcomes.push(admitted ? 1 : 0, meter.remaining, meter.retryAfterMs, meter.resetMs);
      return admitted;
    }
    const admitted = meter.decide(cost + reserved, false);
    const retryAfterMs = admitted ? 0 : this.#retryAfterMs(meter, index, cost);
    meter.decide(cost, admitted && commit);
    const remaining = Math.max(meter.remaining - reserved, 0);
    this.outcomes.push(admitted ? 1 : 0, remaining, retryAfterMs, meter.resetMs);
    return admitted;
  }

  /** As the meter has just said; where it waits for more than that, when the first part of it may be over. */
  #retryAfterMs(meter: Meter, index: number, cost: number): number {
    const policy = this.#policies[index] as Policy;
    if (meter.retryAfterMs >= 0 || cost > policy.capacity) return meter.retryAfterMs;
    const debtMs = (this.debts[index] ?? 0) > 0 ? untilWholeMs(policy) : Number.POSITIVE_INFINITY;
    return Math.max(Math.min(this.firstEndMs, debtMs), 1);
  }
}

/** Tokens that come back in `ms` while the policy is at its limit. */
function refillOf({ spec }: Policy, ms: number): number {
  if (spec.kind === "tokenBucket") return (spec.rate * ms) / spec.per;
  // A fixed window gives nothing back before it ends, and no lease may outlive it.
  return spec.kind === "fixedWindow" ? 0 : (spec.limit * ms) / spec.window;
}
