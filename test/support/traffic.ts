// Policies of every size, and calls that reach their corners.
import fc from "fast-check";
import type { Outcome, Policy } from "../../ts/contract.ts";
import { fixedWindow } from "../../ts/policies/fixed-window.ts";
import { slidingWindow } from "../../ts/policies/sliding-window.ts";
import { tokenBucket } from "../../ts/policies/token-bucket.ts";
import { seeded } from "./fake-ambient.ts";

const DAY = 86_400_000;
const CENTURY = 36_525 * DAY;
/** Times stay whole numbers of ms when a wait of 2^51 is added: up to the year 144,683. */
const LATEST = 2 ** 52;

/** Any whole number of min..max, the small ones and the largest as likely as the rest. */
const whole = (min: number, max: number) =>
  fc.oneof(
    fc.integer({ min, max: Math.min(max, min + 40) }),
    fc.double({ min: Math.log2(min), max: Math.log2(max), noNaN: true }).map((log) => clamp(min, 2 ** log, max)),
    fc.constant(max),
  );
const clamp = (min: number, value: number, max: number) => Math.min(max, Math.max(min, Math.round(value)));
const span = fc.oneof(fc.constantFrom(1, 7, 1000, 60_000, 3_600_000, DAY), whole(1, CENTURY));

const LARGEST_TICKS = 2 ** 51;
export const anyBucket = fc
  .record({ perMs: whole(1, 2 ** 21), rate: whole(1, 2 ** 30), per: span, burst: whole(1, LARGEST_TICKS) })
  .map(({ perMs, rate: few, per, burst: wanted }) => {
    // A rate beyond 2^21 per ms is no policy's; nor is a burst beyond 2^51 ticks.
    const rate = few / per > 2 ** 21 ? Math.min(perMs * per, Number.MAX_SAFE_INTEGER) : few;
    const ticks = tokenBucket({ rate, per, burst: 1 }).constants[1] as number;
    return tokenBucket({ rate, per, burst: Math.min(wanted, Math.floor(LARGEST_TICKS / ticks)) });
  });
export const anyFixed = fc
  .record({ limit: whole(1, LARGEST_TICKS), window: span })
  .map((options) => fixedWindow(options));
/** With up to some hundred runs a key, so that a million decisions take seconds. */
export const anySliding = fc
  .record({ limit: whole(1, LARGEST_TICKS), window: span, steps: whole(1, 400) })
  .map(({ limit, window, steps }) => {
    return slidingWindow({ limit, window, resolution: limit <= steps ? 1 : Math.ceil(window / steps) });
  });
export const anyPolicy: fc.Arbitrary<Policy> = fc.oneof(anyBucket, anyFixed, anySliding);

export interface Call {
  now: number;
  kind: "take" | "peek" | "refund";
  amount: number;
}

/** A random stream of calls on one key, each chosen by what the one before was told. */
export class Traffic {
  readonly #policy: Policy;
  readonly #random: () => number;
  readonly #setsBack: boolean;
  /** What fills or empties the whole budget, ms. */
  readonly #span: number;
  #now: number;
  #told: Outcome = { admitted: true, remaining: 1, retryAfterMs: 0, resetMs: 0 };

  /** @param setsBack  whether the clock is set back now and then */
  constructor(policy: Policy, seed: number, setsBack: boolean) {
    this.#policy = policy;
    this.#random = seeded(seed);
    this.#setsBack = setsBack;
    const [p = 1, , full = 1] = policy.constants;
    this.#span = policy.spec.kind === "tokenBucket" ? Math.ceil(full / p) : policy.spec.window;
    this.#now = this.#pick([0, 1_700_000_000_000, this.#upTo(4e12)]);
  }

  next(): Call {
    this.#now = Math.min(LATEST, Math.max(0, this.#now + this.#gap()));
    const kind = this.#pick(["take", "take", "take", "take", "take", "peek", "refund"] as const);
    return { now: this.#now, kind, amount: this.#amount() };
  }

  /** Says what the last call was answered. */
  tell(outcome: Outcome): void {
    this.#told = outcome;
  }

  #gap(): number {
    const { capacity } = this.#policy;
    const dice = this.#random();
    if (dice < 0.35) return 0;
    if (dice < 0.6) return this.#upTo((4 * this.#span) / capacity);
    if (dice < 0.75) return this.#upTo(this.#span / 4);
    // The moment when something changes, and the one before.
    if (dice < 0.85) return Math.max(0, (this.#told.retryAfterMs ?? 0) - this.#upTo(2));
    if (dice < 0.91) return Math.max(0, this.#told.resetMs - this.#upTo(2));
    if (dice < 0.95) return this.#upTo(3 * this.#span);
    if (dice < 0.96) return this.#upTo(CENTURY);
    return this.#setsBack ? -this.#upTo(this.#pick([2, this.#span / 2, 3 * this.#span, CENTURY])) : 1;
  }

  #amount(): number {
    const { capacity } = this.#policy;
    const dice = this.#random();
    if (dice < 0.4) return 1;
    if (dice < 0.65) return 1 + this.#upTo(capacity / 6);
    if (dice < 0.8) return Math.max(1, this.#told.remaining + this.#upTo(2));
    if (dice < 0.93) return 1 + this.#upTo(capacity);
    if (dice < 0.96) return capacity;
    return this.#pick([capacity + 1, 2 * capacity, Number.MAX_SAFE_INTEGER]);
  }

  /** A whole number of 0..most, but `most` itself. */
  #upTo(most: number): number {
    return Math.floor(this.#random() * most);
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#upTo(choices.length)] as T;
  }
}
