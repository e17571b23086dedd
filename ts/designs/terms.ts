// What options of several designs have in common.
import { requireInteger } from "../errors.ts";

/** @throws {RangeError} it is neither a positive integer nor "adaptive" */
export function blockOf(block: number | "adaptive" = "adaptive"): number | undefined {
  return block === "adaptive" ? undefined : requireInteger("block", block);
}

/** Points of presence, at most. */
export const POPS_MAX = 1_000_000;
