import type { Ambient, Clock, Limiter, LocalLimiter, Policy } from "./contract.ts";
import { instantiate } from "./core/instantiate.ts";
import { type Design, isMade, type LocalDesign } from "./designs/design.ts";
import type { LinkOptions } from "./designs/link.ts";
import { local, opensTable } from "./designs/local.ts";
import { badOption, requireKnown } from "./errors.ts";
import { policiesOf } from "./link/terms.ts";
import { TableLimiter } from "./local-limiter.ts";

/** With a design other than local(), `link` and `onUnreachable` must be given. */
export interface LimiterOptions extends LinkOptions {
  /** The policy, or several that must all admit. */
  policy: Policy | readonly Policy[];
  /** Shows in headers and metrics, and keeps its keys apart from other limiters' on the same ledgers. */
  name?: string;
  /** local() unless given. */
  design?: Design;
  /** The time; the platform's unless given. For tests. */
  clock?: Clock;
}

const FOR_LINKS = ["plan", "endpoints", "link", "onUnreachable", "pops", "deadline", "carry", "onError"] as const;

/** See createLimiter. */
export interface CreateLimiter {
  (options: LimiterOptions & { design?: LocalDesign }): LocalLimiter;
  (options: LimiterOptions): Limiter;
}

/** Makes createLimiter for a platform. */
export function limiterFor(ambient: Ambient): CreateLimiter {
  function createLimiter(options: LimiterOptions & { design?: LocalDesign }): LocalLimiter;
  function createLimiter(options: LimiterOptions): Limiter;
  function createLimiter(options: LimiterOptions): Limiter {
    requireKnown("createLimiter", options, ["policy", "name", "design", "clock", ...FOR_LINKS]);
    const { name = "default", design = local(), clock, link } = options;
    if (typeof name !== "string" || name === "") throw badOption("name", name, "a non-empty string");
    if (!isMade(design)) throw badOption("design", design, "made by local() or exact()");
    if (clock !== undefined && typeof clock?.now !== "function") {
      throw badOption("clock", clock, "an object with now()");
    }
    const policies = policiesOf("policy", options.policy);
    // A clock for tests is also the one that waits are measured by.
    const time = clock ? { ...ambient, now: () => clock.now(), monotonic: () => clock.now() } : ambient;
    if (design.kind === "local") {
      for (const option of FOR_LINKS) {
        if (options[option] !== undefined) throw new RangeError(`design local() takes no ${option}`);
      }
      return new TableLimiter(name, policies, time, opensTable(design, policies, time, instantiate));
    }
    if (typeof link?.limiter !== "function") {
      const made = `made by a host, such as durableObject(env.LEDGER): design ${design.kind}() needs one`;
      throw badOption("link", link, made);
    }
    return link.limiter(design, { name, policies, ambient: time, instantiate, options });
  }
  return createLimiter;
}
