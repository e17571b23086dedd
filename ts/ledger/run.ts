import type { Policy } from "../contract.ts";
import type { Meter } from "../core/meter.ts";
import { book, untilWholeMs } from "./books.ts";
import { PEEK, REFUND, RESET, TAKE } from "./messages.ts";

/** The arithmetic that a ledger works with: one meter for each of several policies. */
export type Meters = (index: number) => Meter;

/** The ops of one request, applied to the loaded meters one after the other. */
export class Run {
  readonly outcomes: number[] = [];
  changed = false;
  freed = false;
  admitted = 0;
  /** Tokens that are leased out, and so reserved. */
  leased = 0;
  /** Tokens that were admitted beyond each policy, and are reserved until it can pay. */
  readonly debts: number[];
  /** Until the first of those leases ends, ms. */
  firstEndMs = 0;
  readonly #meters: Meters;
  readonly #policies: readonly Policy[];
  readonly #known: boolean;
  #shares: readonly number[] = [];

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

  /** Counts tokens as used that a holder has spent. */
  book(tokens: number): void {
    this.bookEach(() => tokens);
  }

  /** The same, with a number for each policy. */
  bookEach(tokens: (index: number) => number): void {
    for (let index = 0; index < this.#policies.length; index++) {
      this.debts[index] = (this.debts[index] ?? 0) + book(this.#meters(index), tokens(index));
    }
  }

  /** Reserves so many tokens of each policy besides those that are leased. */
  reserve(tokens: (index: number) => number): void {
    this.#shares = this.#policies.map((_, index) => tokens(index));
  }

  #reserved(index: number): number {
    return this.leased + (this.#shares[index] ?? 0) + (this.debts[index] ?? 0);
  }

  /** Whole tokens that every policy has left, those that are reserved aside; negative: promised ahead. */
  free(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#policies.length; index++) {
      this.#meters(index).decide(1, false);
      least = Math.min(least, this.#meters(index).remaining - this.#reserved(index));
    }
    return least;
  }

  /** Ms until every policy has `tokens` besides those that are reserved; null: not before a lease ends. */
  waitFor(tokens: number): number | null {
    let longest = 0;
    for (let index = 0; index < this.#policies.length; index++) {
      const meter = this.#meters(index);
      meter.decide(tokens + this.#reserved(index), false);
      if (meter.retryAfterMs < 0) return null;
      longest = Math.max(longest, meter.retryAfterMs);
    }
    return longest;
  }

  /** All policies admit it, or none is charged. */
  #take(cost: number): void {
    const several = this.#policies.length > 1;
    if (several && !this.#look(cost)) return;
    if (several) this.outcomes.length -= 4 * this.#policies.length;
    let admitted = true;
    for (let index = 0; index < this.#policies.length; index++) admitted = this.#decide(index, cost, true);
    if (!admitted) return;
    this.admitted += cost;
    this.changed = true;
  }

  #refund(count: number): void {
    for (let index = 0; index < this.#policies.length; index++) {
      const owed = Math.min(this.debts[index] ?? 0, count);
      this.debts[index] = (this.debts[index] ?? 0) - owed;
      if (count > owed) this.#meters(index).refund(count - owed);
    }
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
