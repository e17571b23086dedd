// What a design needs to decide by ledgers, as types: hosts make it, createLimiter passes it on.
import type { Ambient, Limiter, Policy } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";
import type { Carry, Ledgers } from "../ledger/messages.ts";
import type { Duration } from "../policies/duration.ts";
import type { LinkedDesign } from "./design.ts";

/**
 * How a design reaches ledgers, and what decides by them. Made by a host, for example
 * durableObject(env.LEDGER). One of your own is made of another, as in `{ ...link, ask }`.
 */
export interface Link extends Ledgers {
  /**
   * Makes the limiter. Links bring it, so that whoever has none needs to know nothing of ledgers.
   * @throws {RangeError} an option is missing, out of range, or does not fit another
   */
  limiter(design: LinkedDesign, context: LinkContext): Limiter;
  /** Gives up what the link holds. */
  close?(): Promise<void>;
}

/** A link that holds something. */
export type ClosableLink = Link & Required<Pick<Link, "close">>;

/** A link that also reaches middle ledgers, which stand between here and the ledgers; see docs/sharded.md. */
export interface PlacedLink extends Link {
  /** The link to the middle ledgers at a place of that name. */
  at(place: string): Link;
}

/** What the user chose for when no ledger can be asked. */
export type OnUnreachable = "deny" | "allow" | "share";

/** The options of a limiter with ledgers. */
export interface LinkOptions {
  /** How to reach the ledgers; from a host, such as durableObject(env.LEDGER). */
  link?: Link;
  /**
   * With a plan, keys are [tenant, endpoint], and `policy` is each endpoint's own. The plan is what
   * all endpoints of a tenant may use together: a policy, or several; see docs/tenants.md.
   */
  plan?: Policy | readonly Policy[];
  /** Policies of endpoints that have their own, by the endpoint's name; `policy` is for the others. */
  endpoints?: Readonly<Record<string, Policy | readonly Policy[]>>;
  /**
   * What to answer when no ledger can be asked: "deny" fails closed, "allow" fails open, and with
   * lease() and optimistic() "share" admits a PoP's part of the limit, which the ledgers reserve
   * for it. With a link it must be said.
   */
  onUnreachable?: OnUnreachable;
  /**
   * Points of presence that share a key, at most, a positive integer: each has that part of the
   * limit when it is cut off. Needed by optimistic(), and by onUnreachable "share".
   */
  pops?: number;
  /** Longest that a call waits for a ledger; "1s" unless given. */
  deadline?: Duration;
  /**
   * How a changed policy takes over a key's level: its used "share" (unless given), its "used"
   * tokens, or "reset" to a whole budget. A key's policy changes at most every 30 s.
   */
  carry?: Carry;
  /** Is told what kept a ledger's answer away, for your log; what it throws is your own. */
  onError?: (error: unknown) => void;
}

/** What a limiter over a link is made of. */
export interface LinkContext {
  /** The limiter's name. */
  name: string;
  /** Of keys without any of their own. */
  policies: readonly Policy[];
  /** With the limiter's own clock as the time, where it was given one. */
  ambient: Ambient;
  /** A fresh instance of the core. */
  instantiate(): CoreExports;
  options: LinkOptions;
}
