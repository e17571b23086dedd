import type { KeyState, Outcome, Policy } from "../contract.ts";
import type { CoreExports } from "./exports.ts";

/**
 * One key's state at a time in the WASM core: load it, decide on it, save it.
 *
 * Load, calls and save must follow each other without an await between them: a meter is shared
 * by all keys of a process.
 */
export class Meter {
  readonly #core: CoreExports;
  readonly #kinds: Record<Policy["kind"], number>;
  readonly #outAt: number;
  readonly #policyAt: number;
  #stateAt = 0;
  #view: Float64Array;
  #kind = 0;
  #cells = 0;
  #at = 0;
  #now = 0;

  constructor(core: CoreExports) {
    this.#core = core;
    this.#kinds = {
      tokenBucket: core.TOKEN_BUCKET.value,
      fixedWindow: core.FIXED_WINDOW.value,
      slidingWindow: core.SLIDING_WINDOW.value,
    };
    this.#outAt = core.outAt.value >>> 3;
    this.#policyAt = core.policyAt.value >>> 3;
    this.#view = new Float64Array(core.memory.buffer);
  }

  /** Takes up `state` (null: a whole budget) at `now`, whole ms since the Unix epoch. */
  load(policy: Policy, state: KeyState | null, now: number): void {
    this.#kind = this.#kinds[policy.kind];
    this.#cells = policy.stateCells;
    this.#stateAt = this.#core.scratch(policy.stateCells) >>> 3;
    if (this.#view.buffer !== this.#core.memory.buffer) this.#view = new Float64Array(this.#core.memory.buffer);
    this.#view.set(policy.constants, this.#policyAt);
    this.#view.fill(0, this.#stateAt, this.#stateAt + this.#cells);
    if (state) this.#view.set(state.cells, this.#stateAt);
    // A bucket's numbers count from its last change; a window's are absolute.
    const relative = policy.kind === "tokenBucket";
    if (relative && state) this.#core.scratchRebase(Math.max(now - state.at, 0));
    this.#at = now;
    this.#now = relative ? 0 : now;
  }

  /** Decides `cost`, and takes it if `commit`. */
  decide(cost: number, commit: boolean): Outcome {
    const admitted = this.#core.scratchDecide(this.#kind, this.#now, cost, commit ? 1 : 0) !== 0;
    const retryAfterMs = this.#view[this.#outAt + 2] as number;
    return {
      admitted,
      remaining: this.#view[this.#outAt + 1] as number,
      retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
      resetMs: this.#view[this.#outAt + 3] as number,
    };
  }

  refund(count: number): void {
    this.#core.scratchRefund(this.#kind, this.#now, count);
  }

  /** The state as it is now. */
  save(): KeyState {
    let end = this.#stateAt + this.#cells;
    while (end > this.#stateAt && this.#view[end - 1] === 0) end--;
    return { at: this.#at, cells: Array.from(this.#view.subarray(this.#stateAt, end)) };
  }
}
