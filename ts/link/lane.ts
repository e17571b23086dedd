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

/** The kind of a call that is no op: it only wants the lease looked after. */
export const LEASE_ONLY = -1;

/** A call on its way to a ledger. */
export interface Waiting {
  lane: Lane;
  kind: number;
  amount: number;
  /** Wakes the caller: it is settled, or is to send the next batch. */
  wake(): void;
  /** Whether it has had its answer, or waits no longer. */
  settled: boolean;
  /** null: no answer came in time. */
  delivery: Delivery | null;
  error: Error | null;
  cancelTimer(): void;
}

/** Calls that travel to a ledger in one request. */
export interface Batch {
  request: LedgerRequest;
  waiting: Waiting[];
  /** When it was first sent, and last; monotonic ms. */
  sentAt: number;
  lastSentAt: number;
  attempts: number;
}

/** The way to one key's ledger: one batch under way, and those who wait for the next. */
export class Lane {
  readonly address: string;
  readonly breaker: Breaker;
  readonly queue: Waiting[] = [];
  flight: Batch | null = null;
  /** What last kept an answer away. */
  lastError: unknown;
  /** Since when someone is about to send what waits, monotonic ms. */
  departing: number | null = null;

  /** @param pauseMsMax  the breaker's */
  constructor(address: string, pauseMsMax: number) {
    this.address = address;
    this.breaker = new Breaker(pauseMsMax);
  }

  /** Whether it can be forgotten. */
  get idle(): boolean {
    return !this.flight && this.departing === null && this.queue.length === 0 && !this.breaker.troubled;
  }

  /** The first in line that still waits. */
  get leader(): Waiting | undefined {
    return this.queue.find((waiting) => !waiting.settled);
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
