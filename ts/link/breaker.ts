/** Failures in a row after which nobody waits for the other side any more. */
const FAILURES_MAX = 3;
const PAUSE_MS_MIN = 100;

/**
 * Keeps callers from waiting for what doesn't answer: after some failures in a row it lets one
 * through per pause, to find out whether the other side is back, and the pause doubles while
 * it isn't, up to the longest.
 */
export class Breaker {
  readonly #pauseMsMax: number;
  #failures = 0;
  #pauseMs = PAUSE_MS_MIN;
  #openUntil = 0;

  /** @param pauseMsMax  longest that the other side may be back without anyone noticing */
  constructor(pauseMsMax: number) {
    this.#pauseMsMax = Math.max(pauseMsMax, PAUSE_MS_MIN);
  }

  /** Ms until the next try; 0: go ahead. */
  blockedMs(now: number): number {
    return !this.blocking ? 0 : Math.max(this.#openUntil - now, 0);
  }

  /** Whether it remembers a failure. */
  get troubled(): boolean {
    return this.#failures > 0;
  }

  /** Whether it lets through no more than one per pause. */
  get blocking(): boolean {
    return this.#failures >= FAILURES_MAX;
  }

  /** Someone goes ahead: while in trouble, the others wait to see how that ends. */
  tried(now: number): void {
    if (this.blocking) this.#openUntil = now + this.#pauseMs;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pauseMs = PAUSE_MS_MIN;
  }

  failed(now: number): void {
    this.#failures++;
    if (!this.blocking) return;
    if (this.#failures > FAILURES_MAX) this.#pauseMs = Math.min(2 * this.#pauseMs, this.#pauseMsMax);
    this.#openUntil = now + this.#pauseMs;
  }
}
