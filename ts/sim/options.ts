// What a simulated run is told, and what it tells.
import type { Bounds, Policy } from "../contract.ts";
import type { Design } from "../designs/design.ts";
import type { OnUnreachable } from "../designs/link.ts";
import type { Durability } from "../ledger/messages.ts";
import type { Demand } from "./demand.ts";

/** What can go wrong in a run. */
export type FaultKind =
  | "loss" // messages vanish
  | "duplication" // and arrive twice
  | "jitter" // and overtake each other
  | "cuts" // holders are cut off, both ways or one
  | "ledgerCrashes" // the ledger's process dies and starts again
  | "holderCrashes" // so does a holder's, without a word
  | "freezes" // so that a holder comes late to its timers, as isolates do
  | "drift" // clocks run fast or slow
  | "steps"; // holders' clocks are off, and set
export const FAULT_KINDS: readonly FaultKind[] = [
  "loss",
  "duplication",
  "jitter",
  "cuts",
  "ledgerCrashes",
  "holderCrashes",
  "freezes",
  "drift",
  "steps",
];

export interface SimulateOptions {
  /** The same options with the same seed are the same run. */
  seed: number;
  /** All of them must admit. */
  policies: readonly Policy[];
  /** What each limiter goes by; `policies`, which all together are judged by, unless given. */
  own?: readonly Policy[];
  design: Design;
  /** Holders. */
  pops: number;
  /** Regions, each with a middle ledger that its holders ask instead of home; 0 unless given: none. */
  regions?: number;
  /** Mean life of a holder, which then ends without a word and is followed by another; for ever unless given. */
  lifeMs?: number;
  demand: Demand;
  /** How long calls are made, ms. */
  durationMs: number;
  /** Round trip without faults, ms. */
  rttMs: number;
  durability: Durability;
  onUnreachable: OnUnreachable;
  /** The limiters' option `pops`; as many as there are holders unless given. */
  slots?: number;
  faults: readonly FaultKind[];
}

export interface Report {
  /** Tokens asked for, admitted, and what a limiter that sees all calls at once would admit. */
  demanded: number;
  admitted: number;
  clairvoyant: number;
  /** admitted / clairvoyant. */
  utilization: number;
  /** Tokens above a policy in its worst interval; negative: below. */
  overshoot: number;
  /** What its bounds allow, for the crashes that it had: above zero for lazy() alone. */
  allowed: number;
  calls: number;
  admittedCalls: number;
  requests: number;
  roundTripsPerAdmit: number;
  writesPerAdmit: number;
  /** Requests to middle ledgers, of which those to home are what remains. */
  middleRequests: number;
  /** Shards that a holder used: most at any time, and at the end; 0: none, the ledger itself. */
  shards: { most: number; last: number };
  /** Most of the budget that other holders had in hand when one was refused. */
  stranded: number;
  /** Age of the ledger's last word when a holder admitted something by a lease, at most. */
  stalenessMs: number;
  bounds: Bounds;
  /** What must never happen, in words. */
  problems: string[];
}
