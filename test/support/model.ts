import type { LocalKey, Outcome, Policy } from "../../ts/contract.ts";
import { kindOf } from "../../ts/core/kinds.ts";
import { twin } from "./twin.ts";

interface Held {
  state: Float64Array;
  /** What a bucket's numbers count from, epoch ms; 0 for a window. */
  epoch: number;
}

/** What the table is compared with: a Map of keys, and the arithmetic as plain JavaScript. */
export class Model {
  readonly held = new Map<string, Held>();
  readonly #policy: Policy;
  readonly #constants: Float64Array;
  readonly #out = new Float64Array(4);

  constructor(policy: Policy) {
    this.#policy = policy;
    this.#constants = Float64Array.from(policy.constants);
  }

  decide(key: LocalKey, now: number, cost: number, commit: boolean): Outcome {
    const held = this.#at(key, now);
    twin.decide(kindOf(this.#policy), this.#constants, held.state, this.#out, now - held.epoch, cost, commit);
    const [admitted, remaining, retryAfterMs, resetMs] = this.#out as unknown as [number, number, number, number];
    if (commit && admitted) this.held.set(nameOf(key), held);
    return { admitted: admitted === 1, remaining, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs, resetMs };
  }

  refund(key: LocalKey, now: number, count: number): void {
    if (!this.held.has(nameOf(key))) return;
    const held = this.#at(key, now);
    twin.refund(kindOf(this.#policy), this.#constants, held.state, now - held.epoch, count);
  }

  reset(key: LocalKey): void {
    this.held.delete(nameOf(key));
  }

  /** The keys whose budget is not whole, with the ms until it is. */
  live(now: number): Map<string, number> {
    const live = new Map<string, number>();
    for (const [name, held] of this.held) {
      const resetMs = this.#untilWhole(held, now);
      if (resetMs > 0) live.set(name, resetMs);
    }
    return live;
  }

  isLive(key: LocalKey, now: number): boolean {
    const held = this.held.get(nameOf(key));
    return held !== undefined && this.#untilWhole(held, now) > 0;
  }

  #untilWhole(held: Held, now: number): number {
    // A fixed window says when it ends even if nothing is used.
    if (this.#policy.kind === "fixedWindow" && (held.state[0] as number) + (this.#constants[1] as number) <= now)
      return 0;
    twin.decide(kindOf(this.#policy), this.#constants, held.state, this.#out, now - held.epoch, 1, false);
    return this.#out[3] as number;
  }

  #at(key: LocalKey, now: number): Held {
    const bucket = this.#policy.kind === "tokenBucket";
    const held = this.held.get(nameOf(key));
    if (!held) return { state: new Float64Array(this.#policy.stateCells), epoch: bucket ? now : 0 };
    if (bucket) {
      // Its epoch moves on with every call: another way than the table's.
      const elapsed = (now - held.epoch) * (this.#constants[0] as number);
      held.state[0] = Math.max((held.state[0] as number) - elapsed, 0);
      held.epoch = now;
    }
    return held;
  }
}

/** A name for each key, different for keys of different forms. */
export function nameOf(key: LocalKey): string {
  return typeof key === "string" ? `s${key}` : typeof key === "number" ? `n${key}` : `b${key.join()}`;
}

/** The `nth` of a series of keys of all forms. */
export function keyOf(nth: number): LocalKey {
  if (nth % 5 === 3) return nth;
  if (nth % 5 === 4) return Uint8Array.from({ length: 16 }, (_, index) => (nth >> (8 * (index % 4))) & 255);
  if (nth % 5 === 2) return `ключ:${nth}`;
  return `user:${nth}:${"x".repeat(nth % 19)}`;
}
