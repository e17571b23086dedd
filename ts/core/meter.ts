import type { KeyState, Policy } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import type { CoreExports } from "./exports.ts";
import { kindOf } from "./kinds.ts";

const OUT_CELLS = 4;
const POLICY_CELLS = 4;

/**
 * One key's state under one policy at a time, in the WASM core: load it, decide on it, save it.
 *
 * Load, calls and save must follow each other without an await between them: a meter is shared
 * by all keys of a process.
 */
export class Meter {
  readonly #core: CoreExports;
  readonly #outAt: number;
  readonly #policyAt: number;
  #stateAt = 0;
  #room = 0;
  #view: Float64Array;
  #kind = 0;
  #cells = 0;
  #at = 0;
  #now = 0;

  constructor(core: CoreExports) {
    this.#core = core;
    this.#outAt = roomFor(core, OUT_CELLS);
    this.#policyAt = roomFor(core, POLICY_CELLS);
    this.#view = new Float64Array(core.memory.buffer);
  }

  /** Takes up `state` (null: a whole budget) at `now`, whole ms since the Unix epoch. */
  load(policy: Policy, state: KeyState | null, now: number): void {
    this.#kind = kindOf(policy);
    this.#cells = policy.stateCells;
    this.#reserve(policy.stateCells);
    const stateAt = this.#stateAt >>> 3;
    this.#view.set(policy.constants, this.#policyAt >>> 3);
    this.#view.fill(0, stateAt, stateAt + this.#cells);
    if (state) this.#view.set(state.cells, stateAt);
    // A bucket's numbers count from its last change; a window's are absolute.
    const relative = policy.kind === "tokenBucket";
    if (relative && state) this.#core.rebase(this.#policyAt, this.#stateAt, Math.max(now - state.at, 0));
    this.#at = now;
    this.#now = relative ? 0 : now;
  }

  /** Whether `cost` is admitted; takes it if `commit`. The getters then say the rest. */
  decide(cost: number, commit: boolean): boolean {
    const take = commit ? 1 : 0;
    return this.#core.decide(this.#kind, this.#policyAt, this.#stateAt, this.#outAt, this.#now, cost, take) !== 0;
  }

  /** Whole tokens left after the last decision. */
  get remaining(): number {
    return this.#out(1);
  }

  /** Least ms until the last decision's cost is admitted if nobody else comes; -1: never. */
  get retryAfterMs(): number {
    return this.#out(2);
  }

  /** Ms until the budget is whole, or a fixed window ends, after the last decision. */
  get resetMs(): number {
    return this.#out(3);
  }

  /** Gives `count` tokens back, up to the capacity. */
  refund(count: number): void {
    this.#core.refund(this.#kind, this.#policyAt, this.#stateAt, this.#now, count);
  }

  /** The state as it is now. */
  save(): KeyState {
    this.#refresh();
    const stateAt = this.#stateAt >>> 3;
    let end = stateAt + this.#cells;
    while (end > stateAt && this.#view[end - 1] === 0) end--;
    return { at: this.#at, cells: Array.from(this.#view.subarray(stateAt, end)) };
  }

  #out(cell: number): number {
    // Empty: another meter made the memory grow, which detached this view.
    if (this.#view.length === 0) this.#refresh();
    return this.#view[(this.#outAt >>> 3) + cell] as number;
  }

  #refresh(): void {
    if (this.#view.buffer !== this.#core.memory.buffer) this.#view = new Float64Array(this.#core.memory.buffer);
  }

  #reserve(cells: number): void {
    if (cells > this.#room) {
      // The core gives nothing back; growing in doublings bounds what is left behind.
      this.#room = Math.max(cells, 2 * this.#room);
      this.#stateAt = roomFor(this.#core, this.#room);
    }
    this.#refresh();
  }
}

function roomFor(core: CoreExports, cells: number): number {
  const at = core.alloc(cells);
  if (at === 0) throw new LimiterError("unsupported", "no memory for a ledger's arithmetic");
  return at;
}
