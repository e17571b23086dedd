import { requireInteger } from "../errors.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import type { Durability } from "./messages.ts";

/**
 * Commit before the answer: a crash loses no acknowledged admit. One commit per batch.
 */
export function strict(): Durability {
  return { mode: "strict" };
}

/**
 * Keep `chunk` tokens booked ahead in the store, and commit when they are used up.
 *
 * A crash never over-admits; it forfeits up to `chunk` tokens of each key. Cost: one commit
 * per `chunk` tokens.
 * @param chunk  tokens, a positive integer
 */
export function reserve(chunk: number): Durability {
  return { mode: "reserve", chunk: requireInteger("chunk", chunk, 1, 2 ** 40) };
}

/**
 * Commit behind the answers.
 *
 * A crash forgets what was admitted since the last commit: it over-admits by at most that, and
 * so by no more than the policy's envelope over `every`. While the store fails, every answer
 * waits for a commit as in strict().
 */
export function lazy({ every }: { every: Duration }): Durability {
  return { mode: "lazy", everyMs: toMs("every", every) };
}
