// What a key is decided by. Without a plan that is the same for all keys of a limiter; with one
// the key names a tenant and an endpoint, and each endpoint may have policies of its own.
import type { Policy } from "../contract.ts";
import { badOption } from "../errors.ts";
import { encodeKey, encodeParts, partsOf } from "../key.ts";
import type { Plans, TenantOptions, Terms, TermsOf } from "../ledger/terms.ts";
import { addressesOf, keyIn } from "./address.ts";

/** The terms of a limiter without a plan. */
export function plainTerms(policies: readonly Policy[]): TermsOf {
  const terms = { policies, specs: policies.map(({ spec }) => spec) };
  return { plan: [], encode: encodeKey, of: () => terms, ofKey: () => terms };
}

/**
 * The policies that an option says: one or several.
 * @throws {RangeError} it says none
 */
export function policiesOf(option: string, policy: Policy | readonly Policy[] | undefined): readonly Policy[] {
  const policies = Array.isArray(policy) ? policy : [policy];
  if (policies.length === 0) throw badOption(option, policy, "at least one policy");
  for (const one of policies) {
    if (!one?.constants) throw badOption(option, one, "made by tokenBucket, fixedWindow or slidingWindow");
  }
  return Object.freeze([...policies]);
}

/** Keys whose terms are remembered. */
const RECENT_MAX = 10_000;

const CHILDREN_MAX = 1000;

/**
 * How a link's ledgers have plans: with keys that are endpoints of tenants.
 * @param childrenMax  endpoints that a tenant may have at a time
 */
export function plansOf(childrenMax = CHILDREN_MAX, needed = false): Plans {
  return { needed, termsOf: (options) => tenantTerms(options, childrenMax) };
}

function tenantTerms({ name, policies, plan: above, endpoints }: TenantOptions, childrenMax: number): TermsOf {
  const plan = policiesOf("plan", above);
  if (typeof endpoints !== "object" || endpoints === null || Array.isArray(endpoints)) {
    throw badOption("endpoints", endpoints, "an object with a policy, or several, by the endpoint's name");
  }
  const addressOf = addressesOf(name);
  const planSpecs = plan.map(({ spec }) => spec);
  const prepare = (own: readonly Policy[]) => ({ policies: [...own, ...plan], specs: own.map(({ spec }) => spec) });
  const others = prepare(policies);
  const named = new Map(
    Object.entries(endpoints).map(([endpoint, own]) => {
      if (endpoint === "") throw badOption("endpoints", endpoint, "named by non-empty strings");
      return [endpoint, prepare(policiesOf(`endpoints[${JSON.stringify(endpoint)}]`, own))];
    }),
  );
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
