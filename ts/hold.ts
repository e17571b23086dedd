// Reservations: tokens taken by an estimate before the work, and settled by its cost after it.
import type { Abort, Decision, Hold, Key, ReserveOptions } from "./contract.ts";
import { requireInteger, requireKnown } from "./errors.ts";
import { toMs } from "./policies/duration.ts";
import type { Taken, TakeSource, Takes } from "./takes.ts";

/**
 * Takes `estimate` tokens, to be settled later.
 * @param open  has the hold in it while it holds them
 * @throws {RangeError} bad key, estimate or option
 */
export async function reserveFrom(
  source: TakeSource,
  takes: Takes,
  open: Set<Hold>,
  key: Key,
  estimate: number,
  options: ReserveOptions = {},
): Promise<Hold> {
  requireKnown("reserve", options, ["ttl", "signal"]);
  const ttlMs = toMs("ttl", options.ttl ?? "1m");
  requireInteger("estimate", estimate, 1, Number.MAX_SAFE_INTEGER);
  options.signal?.throwIfAborted();
  const taken = await takes.take(key, estimate);
  return new OpenHold(source, open, key, estimate, taken, ttlMs, options.signal);
}

class OpenHold implements Hold {
  readonly decision: Decision;
  readonly #source: TakeSource;
  readonly #key: Key;
  readonly #taken: Taken;
  /** Ends what goes on while tokens are held; called once. */
  readonly #stop: () => void = () => {};
  /** Tokens still held; none once they were given back because nobody came in time. */
  #held: number;
  #settled: Promise<number> | undefined;

  constructor(
    source: TakeSource,
    open: Set<Hold>,
    key: Key,
    estimate: number,
    taken: Taken,
    ttlMs: number,
    signal: Abort | undefined,
  ) {
    this.#source = source;
    this.#key = key;
    this.#taken = taken;
    this.decision = taken.decision;
    this.#held = estimate;
    if (!taken.decision.success) {
      taken.close();
      this.#settled = Promise.resolve(0);
      return;
    }
    // If there is no ledger to give back to, the tokens stay used: the safe side.
    const abort = () => void this.release().catch(() => {});
    const cancel = source.ambient.schedule(ttlMs, () => void this.#expire().catch(() => {}));
    signal?.addEventListener("abort", abort);
    open.add(this);
    this.#stop = () => {
      open.delete(this);
      cancel();
      signal?.removeEventListener("abort", abort);
      taken.close();
    };
    if (signal?.aborted) abort();
  }

  commit(actual: number): Promise<number> {
    requireInteger("actual", actual, 0);
    this.#settled ??= this.#settle(actual);
    return this.#settled;
  }

  release(): Promise<number> {
    return this.commit(0);
  }

  async #settle(actual: number): Promise<number> {
    const held = this.#held;
    if (held > 0) this.#stop();
    if (actual > held) return held + (await this.#takeMore(actual - held));
    return held - (await this.#taken.giveBack(held - actual));
  }

  /** Gives all back. Whoever comes later with a cost has it taken anew. */
  async #expire(): Promise<void> {
    const held = this.#held;
    this.#held = 0;
    this.#stop();
    await this.#taken.giveBack(held);
  }

  /** Takes `count` tokens, or all that there are. */
  async #takeMore(count: number): Promise<number> {
    const whole = await this.#source.limit(this.#key, { cost: count });
    if (whole.success) return count;
    const left = Math.min(whole.remaining, count);
    return left > 0 && (await this.#source.limit(this.#key, { cost: left })).success ? left : 0;
  }
}
