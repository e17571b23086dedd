import type { Policy } from "../contract.ts";
import { FIXED_WINDOW, SLIDING_WINDOW, TOKEN_BUCKET } from "./abi.ts";

const KINDS = { tokenBucket: TOKEN_BUCKET, fixedWindow: FIXED_WINDOW, slidingWindow: SLIDING_WINDOW };

/** What the core calls a policy's kind. */
export function kindOf({ kind }: Policy): number {
  return KINDS[kind];
}
