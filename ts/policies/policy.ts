import type { Policy, PolicySpec } from "../contract.ts";

/**
 * The policy that a checked spec comes to.
 * @param exact       whether its arithmetic loses nothing
 * @param constants   of core-as/<kind>.ts
 * @param stateCells  numbers that a key's state takes, at most
 */
export function policyFrom(
  spec: PolicySpec,
  capacity: number,
  exact: boolean,
  constants: readonly number[],
  stateCells: number,
): Policy {
  return Object.freeze({ kind: spec.kind, spec: Object.freeze(spec), capacity, exact, constants, stateCells });
}
