// What decides by ledgers, and the checks of what it needs to. Every link brings it.
import type { LinkedDesign } from "../designs/design.ts";
import type { Link, LinkContext, LinkOptions } from "../designs/link.ts";
import { POPS_MAX } from "../designs/terms.ts";
import { badOption, requireInteger, requireOneOf } from "../errors.ts";
import type { TermsOf } from "../ledger/terms.ts";
import { plainTerms } from "../link/terms.ts";
import { toMs } from "../policies/duration.ts";
import { ExactHolder } from "./exact.ts";
import type { Holder, HolderContext } from "./holder.ts";
import { leaseHolder, optimisticHolder } from "./leased.ts";
import { LinkedLimiter } from "./linked-limiter.ts";
import { ShardedHolder } from "./sharded.ts";

/** The designs that decide by ledgers, for a link to bring. */
export const overLedgers: Pick<Link, "limiter"> = {
  limiter(design, context) {
    const { name, ambient, instantiate, options } = context;
    const unreached = unreachedOf(design, options);
    const terms = termsOf(design, context);
    const policies = Object.freeze([...context.policies, ...terms.plan]);
    const holder = holderOf(design, { name, ambient, instantiate, ...unreached, policies, terms });
    return new LinkedLimiter(name, policies, ambient, holder, terms);
  },
};

function holderOf(design: LinkedDesign, context: HolderContext): Holder {
  switch (design.kind) {
    case "exact":
      return new ExactHolder(context, design);
    case "lease":
      return leaseHolder(context, design);
    case "optimistic":
      return optimisticHolder(context, design);
    case "sharded":
      return new ShardedHolder(context, design);
  }
}

/** The way to the ledgers, and what to do without it. */
function unreachedOf({ kind }: LinkedDesign, options: LinkOptions) {
  const { link, onUnreachable, onError, carry = "share" } = options;
  if (typeof link?.ask !== "function") {
    throw badOption("link", link, "made by a host, such as durableObject(env.LEDGER)");
  }
  const canShare = kind === "lease" || kind === "optimistic";
  if (onUnreachable !== "deny" && onUnreachable !== "allow" && (onUnreachable !== "share" || !canShare)) {
    const choice =
      '"deny" (fail closed) or "allow" (fail open)' +
      (canShare ? ' or "share" (each PoP its part)' : "") +
      ", your choice for when no ledger can be asked; it has no default";
    throw badOption("onUnreachable", onUnreachable, choice);
  }
  if (options.pops === undefined && (kind === "optimistic" || onUnreachable === "share")) {
    const why = onUnreachable === "share" ? 'onUnreachable "share"' : `design ${kind}()`;
    throw badOption("pops", options.pops, `the number of PoPs that may share a key: ${why} needs it`);
  }
  const pops = options.pops === undefined ? 1 : requireInteger("pops", options.pops, 1, POPS_MAX);
  requireOneOf("carry", carry, ["share", "used", "reset"]);
  if (onError !== undefined && typeof onError !== "function") throw badOption("onError", onError, "a function");
  return { link, onUnreachable, pops, carry, onError, deadlineMs: toMs("deadline", options.deadline ?? "1s") };
}

/** What keys are decided by. */
function termsOf({ kind }: LinkedDesign, { name, policies, options }: LinkContext): TermsOf {
  const { plan, endpoints, link, onUnreachable } = options;
  if (plan === undefined) {
    if (endpoints === undefined && !link?.plans?.needed) return plainTerms(policies);
    throw new RangeError("endpoints and tenants() need the option plan");
  }
  if (kind !== "exact" && kind !== "lease") {
    throw new RangeError(`design ${kind}() takes no plan: use exact() or lease()`);
  }
  if (onUnreachable === "share") {
    throw badOption("onUnreachable", "share", '"deny" or "allow": a plan reserves no shares');
  }
  if (!link?.plans) throw badOption("link", link, "one with plans: tenants(), embedded() or remote()");
  return link.plans.termsOf({ name, policies, plan, endpoints: endpoints ?? {} });
}
