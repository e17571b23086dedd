// What a key is decided by, as types: links to ledgers with plans make it, limiters follow it.
import type { Key, Policy, PolicySpec } from "../contract.ts";
import type { PlanRequest } from "./messages.ts";

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

/** What the user said of tenants. */
export interface TenantOptions {
  /** The limiter's name. */
  name: string;
  /** Of endpoints that have none of their own. */
  policies: readonly Policy[];
  plan: Policy | readonly Policy[];
  endpoints: unknown;
}

/** How ledgers have plans above them. */
export interface Plans {
  /** Whether they must have. */
  readonly needed: boolean;
  /** @throws {RangeError} the plan or the endpoints are none */
  termsOf(options: TenantOptions): TermsOf;
}
