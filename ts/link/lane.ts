import type { LedgerReply, LedgerRequest } from "../ledger/messages.ts";
import { Breaker } from "./breaker.ts";

/** The part of a ledger's answer that one call gets. */
export interface Delivery {
  reply: LedgerReply;
  /** Which op of the request the call was; the next one for none. */
  index: number;
  /** When the request was first sent, monotonic ms. */
  sentAt: number;
}

/** Calls that began in one turn of the event loop. They share a timer. */
// Not all that wait for the same ledger do: in Workers a timer dies with the request that it was
// set for, and others must not hang for that.
export interface Turn {
  waiting: Waiting[];
  /** How many of them still wait. */
  open: number;
  cancelTimer(): void;
}

/** The kind of a call that is no op: it only wants the lease looked after. */
export const LEASE_ONLY = -1;

/** A call on its way to a ledger. */
export interface Waiting {
  lane: Lane;
  turn: Turn;
  kind: number;
  amount: number;
  /** Whether it has had its answer, or waits no longer. */
  settled: boolean;
  /** null: no answer came in time. */
  resolve(delivery: Delivery | null): void;
  reject(error: Error): void;
}

/** Calls that travel to a ledger in one request. */
export interface Batch {
  request: LedgerRequest;
  waiting: Waiting[];
  /** Monotonic ms. */
  sentAt: number;
  attempts: number;
}

/** The way to one key's ledger: one batch under way, and those who wait for the next. */
export class Lane {
  readonly address: string;
  readonly breaker = new Breaker();
  readonly queue: Waiting[] = [];
  flight: Batch | null = null;
  /** Whether the end of this tick will send what waits. */
  departing = false;

  constructor(address: string) {
    this.address = address;
  }

  /** Whether it can be forgotten. */
  get idle(): boolean {
    return !this.flight && !this.departing && this.queue.length === 0 && !this.breaker.troubled;
  }

  /** Takes the next batch's calls off the queue, without those who wait no longer. */
  board(most: number): Waiting[] {
    const boarding: Waiting[] = [];
    let taken = 0;
    while (taken < this.queue.length && boarding.length < most) {
      const next = this.queue[taken++] as Waiting;
      if (!next.settled) boarding.push(next);
    }
    this.queue.splice(0, taken);
    return boarding;
  }
}
