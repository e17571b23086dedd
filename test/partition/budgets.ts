// What every PoP limits, each by a limiter and a key of its own.
import { fixedWindow, type Policy, slidingWindow, tokenBucket } from "sluice";

/** Length of the fixed windows, ms. */
export const FIXED_MS = 4000;

/** Tokens a second, and at once. */
export const BUCKET = { rate: 200, burst: 400 };

export const POLICIES = {
  bucket: tokenBucket(BUCKET),
  fixed: fixedWindow({ limit: 800, window: FIXED_MS }),
  sliding: slidingWindow({ limit: 800, window: "4s" }),
  // Nothing comes back, so that the ledger's own count can be held against what callers were told.
  finite: tokenBucket({ rate: 1, per: "365d", burst: 10_000 }),
} satisfies Record<string, Policy>;

export type Budget = keyof typeof POLICIES;
export const BUDGETS = Object.keys(POLICIES) as Budget[];
