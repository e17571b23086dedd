// What designs are: the user's choice, checked; and what they answer.
import type { Outcome, Source } from "../contract.ts";
import type { WhenFull } from "../core/table.ts";

/** The same in every copy of the package. */
const MADE: unique symbol = Symbol.for("sluice.design") as never;

/** What local(), exact() and the others have made, and checked. Nobody else can. */
interface Made {
  readonly [MADE]: true;
}

/** Seals what a constructor of designs has checked. */
export function made<D extends Made>(terms: Omit<D, typeof MADE>): D {
  return Object.freeze({ ...terms, [MADE]: true }) as D;
}

export function isMade(design: Design | undefined): boolean {
  return design?.[MADE] === true;
}

/** A place on the triangle, chosen by the user: local(), exact(), ... */
export type Design = LocalDesign | LinkedDesign;

/** One that decides by ledgers. */
export type LinkedDesign = ExactDesign | LeaseDesign | OptimisticDesign | ShardedDesign;

export interface LocalDesign extends Made {
  readonly kind: "local";
  readonly maxKeys: number | undefined;
  readonly whenFull: WhenFull;
}

export interface ExactDesign extends Made {
  readonly kind: "exact";
  readonly denialsMax: number;
}

export interface LeaseDesign extends Made {
  readonly kind: "lease";
  /** Tokens; undefined: adaptive. */
  readonly block: number | undefined;
  /** undefined: by the policies. */
  readonly ttlMs: number | undefined;
}

export interface OptimisticDesign extends Made {
  readonly kind: "optimistic";
  readonly everyMs: number;
  readonly blindMs: number;
  readonly overdraft: number;
  /** Tokens; may be Infinity. */
  readonly maxUnsynced: number;
  readonly block: number | undefined;
}

export interface ShardedDesign extends Made {
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
