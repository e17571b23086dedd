import type { Decision } from "../contract.ts";
import { type Field, retryAfterSeconds } from "./headers.ts";

/** The answer to a request that is not admitted. */
export interface Refusal {
  status: 429 | 503;
  fields: readonly Field[];
  /** Of CONTENT_TYPE. */
  body: string;
}

/** Where the IETF's draft registers its problem types. */
const TYPES = "https://iana.org/assignments/http-problem-types#";

/**
 * The refusal that a decision stands for.
 *
 * 503 where no ledger could be asked: it is the server's fault, not the client's. 429 for all
 * else, also for a cost above the capacity: it is still the quota that refuses, and the lack of
 * Retry-After with the problem's detail says that waiting is of no use.
 *
 * @param names  the policies that refuse
 */
export function refusalOf(decision: Decision, names: readonly string[]): Refusal {
  const unreachable = decision.reason === "unreachable";
  const seconds = retryAfterSeconds(decision);
  const fields: Field[] = [{ name: "cache-control", value: "no-store", list: false }];
  if (seconds !== null) fields.push({ name: "retry-after", value: String(seconds), list: false });
  const status = unreachable ? 503 : 429;
  const body = JSON.stringify({
    type: TYPES + (unreachable ? "temporary-reduced-capacity" : "quota-exceeded"),
    title: unreachable ? "Temporary Reduced Capacity" : "Quota Exceeded",
    status,
    detail:
      seconds === null
        ? "This request costs more than the whole quota, so it cannot succeed, however long you wait."
        : `Retry in ${seconds} s.`,
    "violated-policies": names,
  });
  return { status, fields, body };
}
