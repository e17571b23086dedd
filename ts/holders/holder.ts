// What decides in this process, as types, where ledgers have to be asked.
import type { Ambient, Bounds, Op, Policy } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";
import type { Answer } from "../designs/design.ts";
import type { OnUnreachable } from "../designs/link.ts";
import type { Carry, Ledgers } from "../ledger/messages.ts";
import type { TermsOf } from "../ledger/terms.ts";

/** What a limiter asks to decide: the half of a design that runs in this process. */
export interface Holder {
  /** @throws {LimiterError} "unreachable", for anything but a take */
  ask(key: string, op: Op): Promise<Answer>;
  /**
   * The answer to a take that needs nobody else, if it is one; good until the next. Asked before
   * `ask`, which is for those that it gives null.
   */
  atHand?(key: string, cost: number): Answer | null;
  /** @param pops  as configured, or 1, unless given */
  bounds(pops: number | undefined): Bounds;
  stats(): Record<string, number>;
  close(): Promise<void>;
}

/** What a holder that asks ledgers is made of: the options of its limiter, checked. */
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
  link: Ledgers;
  onUnreachable: OnUnreachable;
  /** Points of presence; 1 unless given. */
  pops: number;
  deadlineMs: number;
  carry: Carry;
  onError: ((error: unknown) => void) | undefined;
}
