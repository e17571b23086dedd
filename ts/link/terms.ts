// What a key is decided by. Without a plan that is the same for all keys of a limiter; with one
// the key names a tenant and an endpoint, and each endpoint may have policies of its own.
import type { Key, Policy, PolicySpec } from "../contract.ts";
import { badOption } from "../errors.ts";
import { encodeKey, encodeParts, partsOf } from "../key.ts";
import type { PlanRequest } from "../ledger/messages.ts";
import { addressesOf, keyIn } from "./address.ts";

/** What requests to one key's ledger say, and how to read its outcomes. */
export interface Terms {
  /** Of each outcome, in their order; a plan's come last. */
  policies: readonly Policy[];
  /** The ledger's own. */
  specs: PolicySpec[];
  plan?: PlanRequest;
}

/** The terms of a limiter's keys. */
export interface TermsOf {
  /** The plan's policies; none without one. */
  readonly plan: readonly Policy[];
  /** The one string that stands for the key. @throws {RangeError} it is no key of this limiter */
  encode(key: Key): string;
  /** By the key's address. */
  of(address: string): Terms;
  /** By the encoded key. */
  ofKey(encoded: string): Terms;
}

/** The terms of a limiter without a plan. */
export function plainTerms(policies: readonly Policy[]): TermsOf {
  const terms = { policies, specs: policies.map(({ spec }) => spec) };
  return { plan: [], encode: encodeKey, of: () => terms, ofKey: () => terms };
}

export interface TenantOptions {
  /** The limiter's name. */
  name: string;
  plan: readonly Policy[];
  /** Of endpoints that have none of their own. */
  policies: readonly Policy[];
  endpoints: ReadonlyMap<string, readonly Policy[]>;
  childrenMax: number;
}

/** Keys whose terms are remembered. */
const RECENT_MAX = 10_000;

/** The terms of a limiter whose keys are endpoints of tenants. */
export function tenantTerms({ name, plan, policies, endpoints, childrenMax }: TenantOptions): TermsOf {
  const addressOf = addressesOf(name);
  const planSpecs = plan.map(({ spec }) => spec);
  const prepare = (own: readonly Policy[]) => ({ policies: [...own, ...plan], specs: own.map(({ spec }) => spec) });
  const others = prepare(policies);
  const named = new Map([...endpoints].map(([endpoint, own]) => [endpoint, prepare(own)]));
  const recent = new Map<string, Terms>();
  const of = (address: string): Terms => {
    const known = recent.get(address);
    if (known) return known;
    const [tenant, child] = partsOf(keyIn(address, name)) as [string, string];
    const request = { address: addressOf(encodeParts([tenant])), child, policies: planSpecs, childrenMax };
    const terms: Terms = { ...(named.get(child) ?? others), plan: request };
    if (recent.size === RECENT_MAX) recent.clear();
    recent.set(address, terms);
    return terms;
  };
  return {
    plan,
    of,
    ofKey: (encoded) => of(addressOf(encoded)),
    encode(key) {
      const isPair =
        Array.isArray(key) && key.length === 2 && key.every((part) => typeof part === "string" && part !== "");
      if (!isPair) throw badOption("key", key, "[tenant, endpoint], two non-empty strings: the limiter has a plan");
      return encodeParts(key);
    },
  };
}
