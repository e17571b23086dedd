// Where the host and the core leave things for each other: see ts/core/abi.ts.
import { CALL_BYTES, KEY, OUT, POLICY } from "../ts/core/abi";

/** Where that begins. */
export const callAt: usize = memory.data(CALL_BYTES, 64);

/** Where a decision is written: [admitted, remaining, retryAfterMs, resetMs]. */
export const outAt: usize = callAt + OUT;
/** Where the host writes the constants of the table's policy. */
export const policyAt: usize = callAt + POLICY;
/** Where the host writes a key's bytes. */
export const keyAt: usize = callAt + KEY;
