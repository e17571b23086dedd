import type { Policy, PolicySpec } from "../contract.ts";
import { badOption } from "../errors.ts";
import { policyOf } from "./spec.ts";

const EXAMPLE = 'like "tokenBucket:rate=10,per=1m,burst=20"';

/**
 * The policy that a line of text describes, as the commands take it:
 * "tokenBucket:rate=10,per=1m,burst=20", "fixedWindow:limit=100,window=1h",
 * "slidingWindow:limit=30,window=1m".
 * @throws {RangeError} it says no valid policy
 */
export function parsePolicy(text: string): Policy {
  if (typeof text !== "string") throw badOption("policy", text, EXAMPLE);
  const [kind = "", list = ""] = text.split(/:(.*)/s);
  const spec = new Map<string, string | number>([["kind", kind.trim()]]);
  for (const part of list.split(",")) {
    if (part.trim() === "") continue;
    const [name, value, more] = part.split("=").map((side) => side.trim());
    if (!name || !value || more !== undefined) throw badOption("policy", text, EXAMPLE);
    if (spec.has(name)) throw new RangeError(`policy names "${name}" twice`);
    spec.set(name, /^\d+$/.test(value) ? Number(value) : value);
  }
  return policyOf(Object.fromEntries(spec) as unknown as PolicySpec);
}
