// What the three policies mean, in exact arithmetic and without regard to speed: the level of a
// bucket as a fraction, and every admission of a window by itself. Shares no code with core-as/.
import type { Outcome, PolicySpec } from "../../ts/contract.ts";

/** One key under one policy. Time may be set back, as core-as/ and ts/core/meter.ts describe. */
export interface RationalKey {
  decide(now: number, cost: number, commit: boolean): Outcome;
  refund(now: number, count: number): void;
}

export function rationalKey(spec: Readonly<PolicySpec>): RationalKey {
  if (spec.kind === "tokenBucket") return new Bucket(spec.rate, spec.per, spec.burst);
  if (spec.kind === "fixedWindow") return new Fixed(spec.limit, spec.window);
  return new Sliding(spec.limit, spec.window, spec.resolution);
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
const ceilDiv = (a: bigint, b: bigint) => (a + b - 1n) / b;

/** The level is `#level / per` tokens, so that `rate` is what one ms adds to it. */
class Bucket implements RationalKey {
  readonly #rate: bigint;
  readonly #per: bigint;
  readonly #full: bigint;
  #level: bigint;
  #at = 0;

  constructor(rate: number, per: number, burst: number) {
    this.#rate = BigInt(rate);
    this.#per = BigInt(per);
    this.#full = BigInt(burst) * this.#per;
    this.#level = this.#full;
  }

  decide(now: number, cost: number, commit: boolean): Outcome {
    this.#pass(now);
    const price = BigInt(cost) * this.#per;
    const admitted = price <= this.#level;
    const retryAfterMs = price > this.#full ? null : admitted ? 0 : Number(ceilDiv(price - this.#level, this.#rate));
    if (admitted && commit) this.#level -= price;
    const remaining = Number(this.#level / this.#per);
    return { admitted, remaining, retryAfterMs, resetMs: Number(ceilDiv(this.#full - this.#level, this.#rate)) };
  }

  refund(now: number, count: number): void {
    this.#pass(now);
    this.#level = min(this.#full, this.#level + BigInt(count) * this.#per);
  }

  #pass(now: number): void {
    // While the clock is set back nothing flows in.
    this.#level = min(this.#full, this.#level + this.#rate * max(0n, BigInt(now - this.#at)));
    this.#at = now;
  }
}

class Fixed implements RationalKey {
  readonly #limit: bigint;
  readonly #window: bigint;
  #used = 0n;
  #of = 0n;

  constructor(limit: number, window: number) {
    this.#limit = BigInt(limit);
    this.#window = BigInt(window);
  }

  decide(now: number, cost: number, commit: boolean): Outcome {
    const nth = BigInt(now) / this.#window;
    const used = this.#usedIn(nth);
    const admitted = used + BigInt(cost) <= this.#limit;
    const taken = admitted && commit ? BigInt(cost) : 0n;
    if (taken > 0n) this.#set(nth, used + taken);
    const resetMs = Number((nth + 1n) * this.#window - BigInt(now));
    const retryAfterMs = BigInt(cost) > this.#limit ? null : admitted ? 0 : resetMs;
    return { admitted, remaining: Number(this.#limit - used - taken), retryAfterMs, resetMs };
  }

  refund(now: number, count: number): void {
    const nth = BigInt(now) / this.#window;
    this.#set(nth, max(0n, this.#usedIn(nth) - BigInt(count)));
  }

  /** What was used in a window that lies ahead, since the clock was set back, is used in this one. */
  #usedIn(nth: bigint): bigint {
    if (this.#of < nth) return 0n;
    this.#of = nth;
    return this.#used;
  }

  #set(nth: bigint, used: bigint): void {
    this.#of = nth;
    this.#used = used;
  }
}

/** Every admission by itself, with the first ms at which it counts no more; oldest first. */
class Sliding implements RationalKey {
  readonly #limit: number;
  readonly #window: number;
  readonly #resolution: number;
  #admissions: { until: number; count: bigint }[] = [];

  constructor(limit: number, window: number, resolution: number) {
    this.#limit = limit;
    this.#window = window;
    this.#resolution = resolution;
  }

  decide(now: number, cost: number, commit: boolean): Outcome {
    this.#pass(now);
    const limit = BigInt(this.#limit);
    const used = this.#used();
    const admitted = used + BigInt(cost) <= limit;
    const retryAfterMs = cost > this.#limit ? null : admitted ? 0 : this.#freeAt(used + BigInt(cost) - limit) - now;
    if (admitted && commit) this.#admissions.push({ until: this.#until(now), count: BigInt(cost) });
    const resetMs = Math.max(0, ...this.#admissions.map(({ until }) => until - now));
    return { admitted, remaining: Number(limit - this.#used()), retryAfterMs, resetMs };
  }

  refund(now: number, count: number): void {
    this.#pass(now);
    let left = BigInt(count);
    for (const admission of this.#admissions) {
      const back = min(left, admission.count);
      admission.count -= back;
      left -= back;
    }
    this.#admissions = this.#admissions.filter((admission) => admission.count > 0n);
  }

  /** The end of the step of `now`, and one window more. */
  #until(now: number): number {
    return Math.floor(now / this.#resolution) * this.#resolution + this.#resolution - 1 + this.#window;
  }

  #used(): bigint {
    return this.#admissions.reduce((sum, { count }) => sum + count, 0n);
  }

  #freeAt(count: bigint): number {
    let freed = 0n;
    for (const admission of this.#admissions) {
      freed += admission.count;
      if (freed >= count) return admission.until;
    }
    return Number.NaN;
  }

  #pass(now: number): void {
    // Of what lies ahead, since the clock was set back, none may count longer than one of now.
    for (const admission of this.#admissions) admission.until = Math.min(admission.until, this.#until(now));
    this.#admissions = this.#admissions.filter(({ until }) => until > now);
  }
}
