import type { Clock } from "../contract.ts";

/** What every JavaScript platform has in common. Nothing here is touched at import. */
export const ambient: Clock = { now: () => Date.now() };
