/**
 * How long a ledger waits so that a holder has surely counted `ms`.
 *
 * Clocks drift, and in Workers a clock stands still between I/O: 2 % and 50 ms are more than
 * that. No time of day ever crosses the network.
 */
export function guarded(ms: number): number {
  return Math.ceil(ms * 1.02) + 50;
}

/** The longest that a holder may count so that guarded() is no more than `ms`; 0: not at all. */
export function unguarded(ms: number): number {
  return Math.max(Math.floor((ms - 50) / 1.02), 0);
}
