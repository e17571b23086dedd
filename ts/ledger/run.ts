import type { Policy } from "../contract.ts";
import type { Meter } from "../core/meter.ts";
import { PEEK, REFUND, RESET, TAKE } from "./messages.ts";

/** The arithmetic that a ledger works with: one meter for each of several policies. */
export type Meters = (index: number) => Meter;

/** Counts `tokens` as used, as far as there are any left: what has been admitted can't be refused. */
export function book(meter: Meter, tokens: number): void {
  if (tokens > 0 && !meter.decide(tokens, true) && meter.remaining > 0) meter.decide(meter.remaining, true);
}

/** The ops of one request, applied to the loaded meters one after the other. */
export class Run {
  readonly outcomes: number[] = [];
  changed = false;
  freed = false;
  admitted = 0;
  /** Tokens that were counted as used without a take, and that were given back. */
  booked = 0;
  back = 0;
  /** Tokens that a plan lets through, what is granted of leases included. */
  allowance = Number.POSITIVE_INFINITY;
  /** Takes that nothing but the allowance refused, by their place among the ops. */
  readonly capped: number[] = [];
  /** Tokens that are leased out, and so reserved. */
  leased = 0;
  /** Until the first of those leases ends, ms. */
  firstEndMs = 0;
  readonly #meters: Meters;
  readonly #policies: readonly Policy[];
  readonly #known: boolean;
  #ops = 0;

  constructor(meters: Meters, policies: readonly Policy[], known: boolean) {
    this.#meters = meters;
    this.#policies = policies;
    this.#known = known;
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

  /** Counts tokens as used that a holder has spent. */
  book(tokens: number): void {
    this.booked += tokens;
    for (let index = 0; index < this.#policies.length; index++) book(this.#meters(index), tokens);
  }

  /** Whole tokens that every policy has left, those that are leased aside; negative: promised ahead. */
  free(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#policies.length; index++) {
      this.#meters(index).decide(1, false);
      least = Math.min(least, this.#meters(index).remaining - this.leased);
    }
    return least;
  }

  /** Ms until every policy has `tokens` besides those that are leased; null: not before a lease ends. */
  waitFor(tokens: number): number | null {
    let longest = 0;
    for (let index = 0; index < this.#policies.length; index++) {
      const meter = this.#meters(index);
      meter.decide(tokens + this.leased, false);
      if (meter.retryAfterMs < 0) return null;
      longest = Math.max(longest, meter.retryAfterMs);
    }
    return longest;
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
    for (let index = 0; index < this.#policies.length; index++) this.#meters(index).refund(count);
    this.back += count;
    this.changed ||= this.#known;
    this.freed ||= this.changed;
    this.#look(1);
  }

  #reset(now: number): void {
    for (const [index, policy] of this.#policies.entries()) this.#meters(index).load(policy, null, now);
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
    if (this.leased === 0) {
      const admitted = meter.decide(cost, commit);
      this.outcomes.push(admitted ? 1 : 0, meter.remaining, meter.retryAfterMs, meter.resetMs);
      return admitted;
    }
    const admitted = meter.decide(cost + this.leased, false);
    const retryAfterMs = admitted ? 0 : this.#retryAfterMs(meter, index, cost);
    meter.decide(cost, admitted && commit);
    const remaining = Math.max(meter.remaining - this.leased, 0);
    this.outcomes.push(admitted ? 1 : 0, remaining, retryAfterMs, meter.resetMs);
    return admitted;
  }

  /** As the meter has just said; where leases must end first, when the first of them does. */
  #retryAfterMs(meter: Meter, index: number, cost: number): number {
    const { capacity } = this.#policies[index] as Policy;
    return meter.retryAfterMs >= 0 || cost > capacity ? meter.retryAfterMs : Math.max(this.firstEndMs, 1);
  }
}
