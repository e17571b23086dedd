import type { Policy } from "../contract.ts";

/**
 * Most tokens that the policy admits in any interval of `ms`: burst + rate × time for a bucket,
 * the limit of every window that the interval touches for windows.
 */
export function envelope({ spec }: Policy, ms: number): number {
  if (spec.kind === "tokenBucket") return spec.burst + Math.floor((spec.rate * ms) / spec.per);
  if (spec.kind === "fixedWindow") return spec.limit * (Math.floor(ms / spec.window) + 2);
  return spec.limit * (Math.floor(ms / spec.window) + 1);
}
