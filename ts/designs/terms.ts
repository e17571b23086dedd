// What the designs that lease have in common in their options.
import type { Policy } from "../contract.ts";
import { requireInteger } from "../errors.ts";

/** @throws {RangeError} it is neither a positive integer nor "adaptive" */
export function blockOf(block: number | "adaptive" = "adaptive"): number | undefined {
  return block === "adaptive" ? undefined : requireInteger("block", block, 1, Number.MAX_SAFE_INTEGER);
}

/** @throws {RangeError} the block is more than a policy's capacity */
export function requireBlock(block: number | undefined, policies: readonly Policy[]): number | undefined {
  return block && requireInteger("block", block, 1, Math.min(...policies.map(({ capacity }) => capacity)));
}

/** Tokens a ms that the policy lets through. */
export function rateOf({ spec }: Policy): number {
  return spec.kind === "tokenBucket" ? spec.rate / spec.per : spec.limit / spec.window;
}
