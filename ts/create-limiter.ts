import type { Ambient, Clock, Limiter, LocalLimiter, Policy } from "./contract.ts";
import { instantiate } from "./core/instantiate.ts";
import type { Design, HolderContext, OnUnreachable, Remote } from "./designs/design.ts";
import { type LocalDesign, local } from "./designs/local.ts";
import { badOption, requireInteger, requireKnown } from "./errors.ts";
import type { Carry, Link } from "./ledger/messages.ts";
import type { TermsOf } from "./ledger/terms.ts";
import { KeyedLimiter, POPS_MAX } from "./limiter.ts";
import { plainTerms, policiesOf } from "./link/terms.ts";
import { TableLimiter } from "./local-limiter.ts";
import { type Duration, toMs } from "./policies/duration.ts";

export interface LimiterOptions {
  /** The policy, or several that must all admit. */
  policy: Policy | readonly Policy[];
  /**
   * With a plan, keys are [tenant, endpoint], and `policy` is each endpoint's own. The plan is what
   * all endpoints of a tenant may use together: a policy, or several; see docs/tenants.md.
   */
  plan?: Policy | readonly Policy[];
  /** Policies of endpoints that have their own, by the endpoint's name; `policy` is for the others. */
  endpoints?: Readonly<Record<string, Policy | readonly Policy[]>>;
  /** Shows in headers and metrics, and keeps its keys apart from other limiters' on the same ledgers. */
  name?: string;
  /** local() unless given. */
  design?: Design;
  /** How to reach the ledgers; from a host, such as durableObject(env.LEDGER). */
  link?: Link;
  /**
   * What to answer when no ledger can be asked: "deny" fails closed, "allow" fails open, and with
   * lease() and optimistic() "share" admits a PoP's part of the limit, which the ledgers reserve
   * for it. With a link it must be said.
   */
  onUnreachable?: OnUnreachable;
  /**
   * Points of presence that share a key, at most, a positive integer: each has that part of the
   * limit when it is cut off. Needed by optimistic(), and by onUnreachable "share".
   */
  pops?: number;
  /** Longest that a call waits for a ledger; "1s" unless given. */
  deadline?: Duration;
  /**
   * How a changed policy takes over a key's level: its used "share" (unless given), its "used"
   * tokens, or "reset" to a whole budget. A key's policy changes at most every 30 s.
   */
  carry?: Carry;
  /** Is told what kept a ledger's answer away, for your log; what it throws is your own. */
  onError?: (error: unknown) => void;
  /** The time; the platform's unless given. For tests. */
  clock?: Clock;
}

const OPTIONS = [
  "policy",
  "plan",
  "endpoints",
  "name",
  "design",
  "link",
  "onUnreachable",
  "pops",
  "deadline",
  "carry",
  "onError",
  "clock",
];
const FOR_LINKS = ["plan", "endpoints", "link", "onUnreachable", "pops", "deadline", "carry", "onError"] as const;

/** Makes createLimiter for a platform. */
export function limiterFor(ambient: Ambient) {
  /**
   * Makes a limiter.
   *
   * @throws {RangeError} an option is missing, out of range, unknown, or does not fit another
   */
  function createLimiter(options: LimiterOptions & { design?: LocalDesign }): LocalLimiter;
  function createLimiter(options: LimiterOptions): Limiter;
  function createLimiter(options: LimiterOptions): Limiter {
    requireKnown("createLimiter", options, OPTIONS);
    const { name = "default", design = local(), clock } = options;
    if (typeof name !== "string" || name === "") throw badOption("name", name, "a non-empty string");
    if (typeof design?.hold !== "function") throw badOption("design", design, "made by local() or exact()");
    if (clock !== undefined && typeof clock?.now !== "function") {
      throw badOption("clock", clock, "an object with now(), which gives epoch ms");
    }
    const remote = remoteOf(options, design);
    const { policies, terms } = termsOf(options, design, name);
    // A clock for tests is also the one that waits are measured by.
    const time = clock ? { ...ambient, now: () => clock.now(), monotonic: () => clock.now() } : ambient;
    const context: HolderContext = { name, policies, terms, ambient: time, instantiate };
    if (remote) context.remote = remote;
    const holder = design.hold(context);
    if (holder.table) return new TableLimiter(name, policies, time, holder, holder.table);
    return new KeyedLimiter(name, policies, time, holder, terms);
  }
  return createLimiter;
}

/** What keys are decided by. */
function termsOf(
  options: LimiterOptions,
  design: Design,
  name: string,
): { policies: readonly Policy[]; terms: TermsOf } {
  const policies = policiesOf("policy", options.policy);
  const { plan, endpoints, link } = options;
  if (plan !== undefined) {
    if (!design.takesPlans) throw new RangeError(`design ${design.kind}() takes no plan: use exact() or lease()`);
    if (options.onUnreachable === "share") {
      throw badOption("onUnreachable", "share", '"deny" or "allow": a plan reserves no shares');
    }
    if (!link?.plans) {
      throw badOption("link", link, "one with plans: tenants(), embedded() or remote()");
    }
    const terms = link.plans.termsOf({ name, policies, plan, endpoints: endpoints ?? {} });
    return { policies: Object.freeze([...policies, ...terms.plan]), terms };
  }
  if (endpoints !== undefined || link?.plans?.needed) {
    throw new RangeError("endpoints and tenants() need the option plan");
  }
  return { policies, terms: plainTerms(policies) };
}

function remoteOf(options: LimiterOptions, design: Design): Remote | undefined {
  const { link, onUnreachable, carry = "share" } = options;
  if (!design.needsLink) {
    for (const name of FOR_LINKS) {
      if (options[name] !== undefined) throw new RangeError(`design ${design.kind}() takes no ${name}`);
    }
    return undefined;
  }
  if (typeof link?.ask !== "function") {
    throw badOption(
      "link",
      link,
      `made by a host, such as durableObject(env.LEDGER): design ${design.kind}() needs one`,
    );
  }
  const canShare = design.needsPops !== undefined;
  if (onUnreachable !== "deny" && onUnreachable !== "allow" && (onUnreachable !== "share" || !canShare)) {
    const choice =
      '"deny" (fail closed) or "allow" (fail open)' +
      (canShare ? ' or "share" (each PoP its part)' : "") +
      ", your choice for when no ledger can be asked; it has no default";
    throw badOption("onUnreachable", onUnreachable, choice);
  }
  const needsPops = design.needsPops === "always" || onUnreachable === "share";
  if (needsPops && options.pops === undefined) {
    const why = onUnreachable === "share" ? 'onUnreachable "share"' : `design ${design.kind}()`;
    throw badOption("pops", options.pops, `the number of PoPs that may share a key: ${why} needs it`);
  }
  const pops = options.pops === undefined ? 1 : requireInteger("pops", options.pops, 1, POPS_MAX);
  if (carry !== "share" && carry !== "used" && carry !== "reset") {
    throw badOption("carry", carry, '"share", "used" or "reset"');
  }
  const { onError } = options;
  if (onError !== undefined && typeof onError !== "function") throw badOption("onError", onError, "a function");
  return { link, onUnreachable, pops, carry, onError, deadlineMs: toMs("deadline", options.deadline ?? "1s") };
}
