import type { Policy, PolicySpec } from "../contract.ts";
import { badOption } from "../errors.ts";
import { policyOf } from "./spec.ts";

/**
 * The policy that a line of text describes, as the commands take it:
 * "tokenBucket:rate=10,per=1m,burst=20", "fixedWindow:limit=100,window=1h",
 * "slidingWindow:limit=30,window=1m".
 * @throws {RangeError} it says no valid policy
 */
export function parsePolicy(text: string): Policy {
  const [kind, list = ""] = text.split(/:(.*)/s);
  const options: Record<string, string | number> = {};
  for (const part of list.split(",").filter((part) => part.trim() !== "")) {
    const [name, value] = part.split("=").map((side) => side.trim());
    if (!name || !value) throw badOption("policy", text, 'like "tokenBucket:rate=10,per=1m,burst=20"');
    if (name in options) throw new RangeError(`policy names "${name}" twice: ${JSON.stringify(text)}`);
    options[name] = /^\d+$/.test(value) ? Number(value) : value;
  }
  return policyOf({ kind, ...options } as unknown as PolicySpec);
}
