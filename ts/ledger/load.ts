import type { LedgerRequest } from "./messages.ts";

/** Calls that are as much work as one more request. */
const CALLS_PER_REQUEST = 100;
/** Below this nobody needs to know. */
const TELL_MIN = 5;

/** How much a ledger is asked of late: requests a second, and one more for each hundred calls in them. */
export class Load {
  #sum = 0;
  #at = 0;

  /** Counts a request. @returns the load, to tell the one who asks; undefined: little */
  add({ ops }: LedgerRequest, now: number): number | undefined {
    const faded = Math.exp((this.#at - now) / 1000);
    this.#sum = Math.min(faded, 1) * this.#sum + 1 + ops.length / 2 / CALLS_PER_REQUEST;
    this.#at = now;
    return this.#sum < TELL_MIN ? undefined : Math.round(this.#sum);
  }
}
