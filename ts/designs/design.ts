import type { Clock, Link, Op, Outcome, Platform, Policy } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";
import type { Table } from "../core/table.ts";

/** An outcome, and where it was decided. */
export interface Answer extends Outcome {
  source: "local" | "ledger";
}

/** What a limiter asks to decide: the half of a design that runs in this process. */
export interface Holder {
  ask(address: string, op: Op, now: number): Promise<Answer>;
  /** Present where all keys are in a table of this process. Opens it at the first call. */
  table?(): Table;
  close(): Promise<void>;
}

/** What a holder is made of. */
export interface HolderContext {
  policy: Policy;
  clock: Clock;
  link: Link | undefined;
  /** A fresh instance of the core. */
  instantiate(): CoreExports;
  random: Platform["random"];
}

/** A place on the triangle, chosen by the user: local(), exact(), ... */
export interface Design {
  readonly kind: string;
  readonly needsLink: boolean;
  /** Makes the limiter's holder. Called once, by createLimiter. */
  hold(context: HolderContext): Holder;
}
