// What every PoP limits, each by a limiter and a key of its own.
import { fixedWindow, type Policy, slidingWindow, tokenBucket } from "sluice";

export const POLICIES = {
  bucket: tokenBucket({ rate: 200, burst: 400 }),
  fixed: fixedWindow({ limit: 600, window: "3s" }),
  sliding: slidingWindow({ limit: 600, window: "3s" }),
  // Nothing comes back, so that the ledger's own count can be held against what callers were told.
  finite: tokenBucket({ rate: 1, per: "365d", burst: 10_000 }),
} satisfies Record<string, Policy>;

export type Budget = keyof typeof POLICIES;
export const BUDGETS = Object.keys(POLICIES) as Budget[];
