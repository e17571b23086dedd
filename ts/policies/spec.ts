import type { Policy, PolicySpec } from "../contract.ts";
import { badOption } from "../errors.ts";
import { fixedWindow } from "./fixed-window.ts";
import { slidingWindow } from "./sliding-window.ts";
import { tokenBucket } from "./token-bucket.ts";

/**
 * Makes the policy of a spec that came from elsewhere (the wire, a store, a command line).
 * @throws {RangeError} it is no valid spec
 */
export function policyOf(spec: PolicySpec): Policy {
  const { kind, ...options } = spec ?? {};
  if (kind === "tokenBucket") return tokenBucket(options as never);
  if (kind === "fixedWindow") return fixedWindow(options as never);
  if (kind === "slidingWindow") return slidingWindow(options as never);
  throw badOption("policy kind", kind, "tokenBucket, fixedWindow or slidingWindow");
}
