import type { Ambient, Bounds, Op, Outcome, Policy, Source } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";
import type { KeyTable } from "../core/table.ts";
import type { Carry, Link } from "../ledger/messages.ts";
import type { TermsOf } from "../ledger/terms.ts";

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

/** What a limiter asks to decide: the half of a design that runs in this process. */
export interface Holder {
  /** @throws {LimiterError} "unreachable", for anything but a take */
  ask(address: string, op: Op, now: number): Promise<Answer>;
  /** Present where all keys are in a table of this process. Opens it at the first call. */
  table?(): KeyTable;
  /**
   * The answer to a take that needs nobody else, if it is one; good until the next. Asked before
   * `ask`, which is for those that it gives null.
   */
  atHand?(key: string, cost: number): Answer | null;
  /** @param surroundings  pops: as configured, or 1, unless given */
  bounds(surroundings: { pops: number | undefined; rttMs: number }): Bounds;
  stats(): Record<string, number>;
  close(): Promise<void>;
}

/** What the user chose for when no ledger can be asked. */
export type OnUnreachable = "deny" | "allow" | "share";

/** A design's way to ledgers, and what to do without it. */
export interface Remote {
  link: Link;
  onUnreachable: OnUnreachable;
  /** Points of presence; 1 unless given. */
  pops: number;
  deadlineMs: number;
  carry: Carry;
  onError: ((error: unknown) => void) | undefined;
}

/** What a holder is made of. */
export interface HolderContext {
  /** The limiter's name. */
  name: string;
  /** With a plan: those of endpoints that have none of their own, and the plan's. */
  policies: readonly Policy[];
  terms: TermsOf;
  /** With the limiter's own clock as the time, where it was given one. */
  ambient: Ambient;
  /** A fresh instance of the core. */
  instantiate(): CoreExports;
  /** Present if the design needs one. */
  remote?: Remote;
}

/** A place on the triangle, chosen by the user: local(), exact(), ... */
export interface Design {
  readonly kind: string;
  readonly needsLink: boolean;
  /** Whether its keys may be children of a plan. */
  readonly takesPlans?: true;
  /** Whether it has a use for `pops`: undefined for none, or which of its settings need it. */
  readonly needsPops?: "always" | "to share";
  /** Makes the limiter's holder. Called once, by createLimiter. */
  hold(context: HolderContext): Holder;
}

/** The context's remote. @throws {RangeError} it has none */
export function remoteOf({ remote }: HolderContext, design: string): Remote {
  if (!remote) throw new RangeError(`design ${design}() needs a link to its ledgers`);
  return remote;
}
