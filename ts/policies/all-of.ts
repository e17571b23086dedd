import type { Outcome, Policy } from "../contract.ts";

/** What several policies say to one call. */
export interface Joint extends Outcome {
  /** The capacity of the policy whose numbers these are. */
  limit: number;
  /** Which policy that is. */
  tightest: number;
  each: readonly (Outcome & { limit: number })[];
}

/**
 * Joins the outcomes of policies that must all admit.
 *
 * The wait is the longest of theirs: without others, a policy that admits at some time admits
 * at any later one. The other numbers are those of the tightest policy: the one that refuses
 * for longest, or has the least left.
 */
export function allOf(policies: readonly Policy[], outcomes: readonly Outcome[]): Joint {
  const each = outcomes.map((outcome, index) => ({ ...outcome, limit: policies[index]?.capacity ?? 0 }));
  let tightest = 0;
  for (let index = 1; index < each.length; index++) {
    if (isTighter(each[index] as Outcome, each[tightest] as Outcome)) tightest = index;
  }
  return { ...(each[tightest] as Outcome & { limit: number }), tightest, each };
}

function isTighter(a: Outcome, b: Outcome): boolean {
  const waits = waitOf(a) - waitOf(b);
  return waits > 0 || (!(waits < 0) && a.remaining < b.remaining);
}

function waitOf({ retryAfterMs }: Outcome): number {
  return retryAfterMs ?? Number.POSITIVE_INFINITY;
}
