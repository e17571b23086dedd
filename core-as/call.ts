// Where the host and the table leave things for each other.

/** Where a decision is written: [admitted, remaining, retryAfterMs, resetMs]. */
export const outAt: usize = memory.data(32);
/** Where the host writes the constants of the table's policy. */
export const policyAt: usize = memory.data(32);
