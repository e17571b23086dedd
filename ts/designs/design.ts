import type { Clock, Link, Op, Outcome, Policy } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";

/** An outcome, and where it was decided. */
export interface Answer extends Outcome {
  source: "local" | "ledger";
}

/** What a limiter asks to decide: the half of a design that runs in this process. */
export interface Holder {
  ask(address: string, op: Op, now: number): Promise<Answer>;
  /** Present where no promise is needed. */
  askSync?(address: string, op: Op, now: number): Answer;
  close(): Promise<void>;
}

/** What a holder is made of. */
export interface HolderContext {
  policy: Policy;
  clock: Clock;
  link: Link | undefined;
  /** A fresh instance of the core. */
  instantiate(): CoreExports;
}

/** A place on the triangle, chosen by the user: local(), exact(), ... */
export interface Design {
  readonly kind: string;
  readonly needsLink: boolean;
  /** Makes the limiter's holder. Called once, by createLimiter. */
  hold(context: HolderContext): Holder;
}
