import type { Policy } from "../contract.ts";
import { policyOf } from "../policies/spec.ts";

/**
 * The policies of each of `shards` shards: together they are the policies, to the token.
 *
 * A limit that doesn't divide evenly gives its rest to the first shards, a token each; a rate is
 * divided by a longer period, and so exactly.
 *
 * @throws {RangeError} there are fewer tokens than shards
 */
export function splitPolicies(policies: readonly Policy[], shards: number): Policy[][] {
  const capacity = Math.min(...policies.map((policy) => policy.capacity));
  if (capacity < shards) {
    throw new RangeError(
      `${shards} shards can't share ${capacity} tokens: each needs one; use fewer, or split: "leased"`,
    );
  }
  return Array.from({ length: shards }, (_, nth) => policies.map((policy) => part(policy, shards, nth)));
}

function part({ spec }: Policy, shards: number, nth: number): Policy {
  const share = (tokens: number) => Math.floor(tokens / shards) + (nth < tokens % shards ? 1 : 0);
  if (spec.kind === "tokenBucket") return policyOf({ ...spec, per: spec.per * shards, burst: share(spec.burst) });
  return policyOf({ ...spec, limit: share(spec.limit) });
}
