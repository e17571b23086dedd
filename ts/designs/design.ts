// What designs are, as types: the user's choice, checked; and what they answer.
import type { Outcome, Source } from "../contract.ts";
import type { WhenFull } from "../core/table.ts";

/** A place on the triangle, chosen by the user: local(), exact(), ... */
export type Design = LocalDesign | LinkedDesign;

/** One that decides by ledgers. */
export type LinkedDesign = ExactDesign | LeaseDesign | OptimisticDesign | ShardedDesign;

export interface LocalDesign {
  readonly kind: "local";
  readonly maxKeys: number | undefined;
  readonly whenFull: WhenFull;
}

export interface ExactDesign {
  readonly kind: "exact";
  readonly denialsMax: number;
}

export interface LeaseDesign {
  readonly kind: "lease";
  /** Tokens; undefined: adaptive. */
  readonly block: number | undefined;
  /** undefined: by the policies. */
  readonly ttlMs: number | undefined;
}

export interface OptimisticDesign {
  readonly kind: "optimistic";
  readonly everyMs: number;
  readonly blindMs: number;
  readonly overdraft: number;
  /** Tokens; may be Infinity. */
  readonly maxUnsynced: number;
  readonly block: number | undefined;
}

export interface ShardedDesign {
  readonly kind: "sharded";
  readonly shards: number | "auto";
  readonly split: "leased" | "static";
  readonly route: "pinned" | "spread";
  readonly retries: number;
  readonly splitAt: number;
}

/** An outcome, and where it came from. */
export interface Answer extends Outcome {
  source: Source;
  /** Set where no ledger could be asked. */
  unreachable?: true;
  /** Set where it is the plan that refuses. */
  planCap?: true;
  /** With several policies: the capacity of the tightest, and what each says. */
  limit?: number;
  each?: readonly (Outcome & { limit: number })[];
}
