// What lease() and optimistic() come to under a limiter's policies.
import type { Policy } from "../contract.ts";
import type { LeaseDesign, OptimisticDesign } from "../designs/design.ts";
import { requireInteger } from "../errors.ts";
import { defaultTtlMs } from "../link/lease-hold.ts";
import { Shares } from "../link/share.ts";
import type { HolderContext } from "./holder.ts";
import { LeaseHolder } from "./lease-holder.ts";

/** After how many ttls without a word a PoP takes from its share. */
const BLIND_TTLS = 2;

/** @throws {RangeError} the block is more than a policy's capacity */
export function leaseHolder(context: HolderContext, design: LeaseDesign): LeaseHolder {
  const { policies, pops } = context;
  const ttlMs = design.ttlMs ?? defaultTtlMs(policies);
  const shares = sharesIn(context);
  const alone = shares && { pops, blindMs: BLIND_TTLS * ttlMs, overdraftPerMs: 0, shares };
  return new LeaseHolder(context, { ttlMs, block: blockIn(design, policies), alone });
}

/** @throws {RangeError} the block is more than a policy's capacity */
export function optimisticHolder(context: HolderContext, design: OptimisticDesign): LeaseHolder {
  const { policies, pops } = context;
  const { blindMs, everyMs, maxUnsynced } = design;
  const overdraftPerMs = design.overdraft * Math.min(...policies.map(rateOf)) * (1 - 1 / pops);
  const alone = { pops, blindMs, overdraftPerMs, shares: sharesIn(context) };
  const eager = { everyMs, maxUnsynced };
  return new LeaseHolder(context, { ttlMs: blindMs, block: blockIn(design, policies), alone, eager });
}

function sharesIn({ onUnreachable, policies, pops, instantiate }: HolderContext): Shares | undefined {
  return onUnreachable === "share" ? new Shares(policies, pops, instantiate) : undefined;
}

function blockIn({ block }: LeaseDesign | OptimisticDesign, policies: readonly Policy[]): number | undefined {
  return block && requireInteger("block", block, 1, Math.min(...policies.map(({ capacity }) => capacity)));
}

/** Tokens a ms that the policy lets through. */
function rateOf({ spec }: Policy): number {
  return spec.kind === "tokenBucket" ? spec.rate / spec.per : spec.limit / spec.window;
}
