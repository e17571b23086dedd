// What holders and ledgers say to each other. Plain JSON, flat where it is long, with no time
// of day in it: clocks differ between machines, so that only durations travel.
import type { PolicySpec } from "../contract.ts";
import type { Plans } from "./terms.ts";

/** How a policy that changes takes over a key that lived under another; see carry.ts. */
export type Carry = "share" | "used" | "reset";

/** When a ledger commits what a request changed; see durability.ts. */
export type Durability = { mode: "strict" } | { mode: "reserve"; chunk: number } | { mode: "lazy"; everyMs: number };

/** The kinds of op: take tokens, look at what a take would answer, give back, start afresh. */
export const TAKE = 0;
export const PEEK = 1;
export const REFUND = 2;
export const RESET = 3;

/** Calls on one key, decided in order and committed at once. */
export interface LedgerRequest {
  v: 1;
  /** Who asks: a random id, new at every start of a holder. */
  holder: string;
  /** Rises with every new request of a holder to a key; a retry repeats it. */
  seq: number;
  /** All of them must admit a take. */
  policies: PolicySpec[];
  /** "share" unless given. */
  carry?: Carry;
  /** The ledger's own unless given. */
  durability?: Durability;
  /** kind and amount of each op, one behind the other. */
  ops: number[];
  /** What becomes of the holder's lease; see leases.ts. Settled before the ops, granted after them. */
  sync?: LeaseRequest;
  /** The plan above this ledger, which must admit a take as well; see supervisor.ts. */
  plan?: PlanRequest;
}

/** The plan that a ledger is a child of. */
export interface PlanRequest {
  /** Of the plan's own ledger, which all the children have in common. */
  address: string;
  /** Which of its children is asked: its name within the plan. */
  child: string;
  policies: PolicySpec[];
  /** Children that the plan may have at a time. */
  childrenMax: number;
}

/** What a child may let through of its plan's budget. Totals since the child began, as in a LeaseRequest. */
export interface Allotment {
  /** Tokens used, and given back, by the child in all, as the plan last heard. */
  used: number;
  back: number;
  /** Tokens that it may use beyond those, what it leases out included. */
  tokens: number;
  /** How many of those it gets just now: all that there are for a child that remembers nothing. */
  given: number;
  /** Longest that it may lease them out, ms. */
  ttlMs: number;
}

/** A child's totals. */
export interface Totals {
  used: number;
  back: number;
  /** Tokens that it has leased out. */
  held: number;
  /** Whether it remembers nothing: it is new, or was deleted. */
  fresh: boolean;
  /** When its budget is whole, epoch ms of the plan's own clock: a child is never on another machine. */
  wholeAt: number;
}

/** A child's answers to requests, in their order, and its totals after them. */
export interface ChildReply {
  replies: { reply: LedgerReply; replayed: boolean }[];
  totals: Totals;
}

/**
 * What a holder says about its lease. It tells totals and not what has changed, so that a
 * request that got lost needn't be repeated: the next one says all.
 */
export interface LeaseRequest {
  /** Tokens of its leases that it has spent since it began with this key. */
  used: number;
  /** Tokens that it may spend and keeps. What of its lease is neither spent nor kept, it returns. */
  held: number;
  /** Tokens that it keeps and whose start has yet to come. */
  later: number;
  /** Tokens that it would like to have besides. */
  ask: number;
  /** How long it would like to keep them, ms. */
  ttlMs: number;
  /** Most tokens in a lease; adapted to the budget and to the number of holders unless given. */
  block?: number;
  /** Present if the holder would admit more than it has leased while it hears nothing. */
  rights?: RightsRequest;
}

/** What a holder would like to do without the ledger, and what it did; see rights.ts. */
export interface RightsRequest {
  /** Holders that have rights to a key, at most; each has that part of the rate as its share. */
  pops: number;
  /** How long it hears nothing before it takes from its share, ms. */
  blindMs: number;
  /** Whether it takes from its share then. */
  share: boolean;
  /** Tokens that it overdraws at most until it hears from the ledger. */
  overdraft: number;
  /** Tokens that it overdrew, and took from its share, since it began with this key. */
  overdrawn: number;
  shared: number;
  /** Counts its requests on this key; the last one that it heard the answer to, 0 for none. */
  asked: number;
  heard: number;
  /** false: it gives its rights up. */
  keep: boolean;
}

/** What a holder may spend without asking. */
export interface LeaseReply {
  /** Tokens, those it kept included, less what it has spent since it sent the request. */
  tokens: number;
  /** How long, by the holder's clock, from before it first sent the request; 0: no longer than before. */
  ttlMs: number;
  /** Tokens that join them later: those that it kept at their time, new ones when `startsInMs` have passed. */
  later: number;
  /** From when this came; ledgers grant no more of them to a holder that has some. */
  startsInMs: number;
  /** Until the budget is whole, if nobody takes any more. */
  resetMs: number;
  /**
   * The seq of the request that the lease began with. Another one than before means another lease,
   * granted by one who doesn't know how long the holder might count on the former.
   */
  since?: number;
  /** Present if the holder has the rights that it asked for: tokens that were admitted beyond the limit. */
  debt?: number;
}

/** Numbers of one policy's outcome in a reply. */
export const OUTCOME_CELLS = 4;

/** The answer to a request. */
export interface LedgerReply {
  v: 1;
  /** For each op and each policy, the plan's last: admitted (0 or 1), remaining, retryAfterMs (-1: never), resetMs. */
  outcomes: number[];
  /** Answers `sync`. */
  lease?: LeaseReply;
  /** What the ledger is asked for this key of late, requests a second; absent: little, or not known. */
  load?: number;
  /** Present if the ledger decided by other policies than those of the request; see step.ts. */
  policies?: PolicySpec[];
  /** Present if the plan decided by other policies than those of the request. */
  plan?: PolicySpec[];
  /** A child's alone: takes that only its plan refuses, by their place among the ops. */
  capped?: number[];
  /** Present if nothing was decided; `outcomes` is then empty. */
  error?: { code: "request" | "storage" | "protocol" | "closed" | "children_max"; message: string };
}

/** The way to ledgers: the half of a link that carries requests. */
export interface Ledgers {
  /** What the ledgers commit, and when; "strict" if they were not told. */
  readonly durability: Durability;
  /** Present if what it reaches are middle ledgers, which hold tokens for others too: see docs/sharded.md. */
  readonly middle?: true;
  /** Present if its ledgers can have a plan above them. */
  readonly plans?: Plans;
  /**
   * Sends to the ledger of that address.
   * @throws whatever kept the answer away; the request may or may not have been decided
   */
  ask(address: string, request: LedgerRequest): Promise<LedgerReply>;
  /** Keeps work going that nobody waits for, where it would end with the request that began it. */
  outlive?(work: Promise<unknown>): void;
}
