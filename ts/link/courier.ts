// Carries calls to ledgers. Calls on one key that come while a request is under way travel
// together in the next one: each is still decided on its own, in order, but a round trip and a
// commit serve all of them. Nobody waits beyond the deadline, or for a ledger known to be gone.
import type { Ambient } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import type { Carry, LeaseReply, LeaseRequest, LedgerReply, LedgerRequest, Ledgers } from "../ledger/messages.ts";
import { errorOf } from "../ledger/replies.ts";
import type { TermsOf } from "../ledger/terms.ts";
import { Breaker } from "./breaker.ts";
import { type Batch, type Delivery, Lane, LEASE_ONLY, type Waiting } from "./lane.ts";

/** Who looks after this holder's leases: their news travel with the calls. */
export interface LeaseKeeper {
  /** What to say of a key's lease in a request that is about to leave; undefined: nothing. */
  request(address: string): LeaseRequest | undefined;
  /** What the ledger answered to that. Not called if a later request has left meanwhile. */
  arrived(address: string, request: LeaseRequest, reply: LeaseReply, sentAt: number): void;
}

export interface CourierOptions {
  link: Ledgers;
  ambient: Pick<Ambient, "monotonic" | "schedule">;
  /** This holder's id. */
  holder: string;
  terms: Pick<TermsOf, "of">;
  carry: Carry;
  /** Longest that a call waits, ms. */
  deadlineMs: number;
  leases?: LeaseKeeper | undefined;
  /** Is told what kept an answer away. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Calls in one request at most. */
const BATCH_MAX = 1024;
/** Calls that wait for one key at most, and for all keys. More are turned away at once. */
const LANE_MAX = 8 * BATCH_MAX;
const WAITING_MAX = 65_536;
/** Keys in trouble that are remembered; more are known by the state of the link alone. */
const LANES_MAX = 10_000;
const RETRY_MS_MIN = 10;
/** Keys that are looked at to forget one of them. */
const FORGET_TRIES = 16;

/** Such that a ledger is found within a deadline of being back: half of one for the try before may still run. */
const pauseMsMax = ({ deadlineMs }: CourierOptions) => deadlineMs / 2;

export class Courier {
  readonly stats = { requests: 0, retries: 0, expired: 0, shed: 0, blocked: 0 };
  readonly #options: CourierOptions;
  readonly #lanes = new Map<string, Lane>();
  /** The state of the link as a whole, and the keys that failed since anyone had an answer. */
  readonly #breaker: Breaker;
  readonly #troubled = new Set<string>();
  #seq = 0;
  #waiting = 0;
  #drained = () => {};

  constructor(options: CourierOptions) {
    this.#options = options;
    this.#breaker = new Breaker(pauseMsMax(options));
  }

  /**
   * The ledger's answer to one call; null if there is none within the deadline.
   * @throws {RangeError | LimiterError} the ledger refused the request as such
   */
  send(address: string, kind: number, amount: number): Promise<Delivery | null> | null {
    if (this.blockedMs(address) > 0) {
      this.stats.blocked++;
      return null;
    }
    const lane = this.#lane(address);
    if (lane.queue.length >= LANE_MAX || this.#waiting >= WAITING_MAX) {
      this.stats.shed++;
      return null;
    }
    const waiting: Waiting = {
      lane,
      kind,
      amount,
      wake() {},
      settled: false,
      delivery: null,
      error: null,
      cancelTimer() {},
    };
    this.#watch(waiting);
    this.#waiting++;
    lane.queue.push(waiting);
    if (!lane.flight && lane.departing === null) {
      lane.departing = this.#options.ambient.monotonic();
      // What else this turn has for the key comes along.
      queueMicrotask(() => this.#depart(lane));
    }
    return this.#wait(waiting);
  }

  /** What last kept an answer of that ledger away: of that one alone, since errors tell of keys. */
  lastErrorOf(address: string): unknown {
    return this.#lanes.get(address)?.lastError;
  }

  /** Ms until the ledger of that address is tried again; 0: it is thought to be there. */
  blockedMs(address: string): number {
    const now = this.#options.ambient.monotonic();
    return Math.max(this.#breaker.blockedMs(now), this.#lanes.get(address)?.breaker.blockedMs(now) ?? 0);
  }

  /** Lets those have their answers who still wait, and forgets everything. */
  async close(): Promise<void> {
    const { ambient, deadlineMs } = this.#options;
    if (this.#waiting > 0) {
      await new Promise<void>((resolve) => {
        // All of them have deadlines. This timer is for Workers: who waits for others needs one of his own.
        const cancel = ambient.schedule(3 * deadlineMs, resolve);
        this.#drained = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#lanes.clear();
  }

  /**
   * Waits until the call is settled. When its turn comes to send the next batch, it does that
   * itself: in Workers, what one request has begun ends with that request, so that a batch must be
   * sent by one of those who wait for it.
   */
  async #wait(waiting: Waiting): Promise<Delivery | null> {
    while (!waiting.settled) {
      await new Promise<void>((resolve) => {
        waiting.wake = resolve;
      });
      if (!waiting.settled) this.#depart(waiting.lane);
    }
    waiting.cancelTimer();
    if (waiting.error) throw waiting.error;
    return waiting.delivery;
  }

  /**
   * Keeps time for one call. Every call has a timer of its own until it goes on: in Workers a
   * request may wait for what another one does only while it has something to wait for itself.
   */
  #watch(waiting: Waiting): void {
    const { ambient, deadlineMs } = this.#options;
    const after = (ms: number, callback: () => void) => {
      waiting.cancelTimer = ambient.schedule(ms, callback);
    };
    const halfMs = deadlineMs / 2;
    after(halfMs, () => {
      this.#hurry(waiting.lane);
      after(halfMs, () => {
        // A busy process may come late to its timers: answers that are already there go first.
        after(0, () => {
          after(deadlineMs, () => {});
          this.#expire(waiting);
        });
      });
    });
  }

  /** Half the time is over: whoever was to send may be gone, or the message lost. Do it again. */
  #hurry(lane: Lane): void {
    const { ambient, deadlineMs } = this.#options;
    const late = ambient.monotonic() - deadlineMs / 2;
    const { flight, departing } = lane;
    if (flight && flight.lastSentAt <= late) {
      this.stats.retries++;
      this.#send(lane, flight);
    } else if (!flight && departing !== null && departing <= late) this.#next(lane);
  }

  #lane(address: string): Lane {
    let lane = this.#lanes.get(address);
    if (!lane) {
      if (this.#lanes.size >= LANES_MAX) this.#forgetTrouble();
      lane = new Lane(address, pauseMsMax(this.#options));
      this.#lanes.set(address, lane);
    }
    return lane;
  }

  /** Forgets a key that nobody waits for, if there is one among the next few. */
  #forgetTrouble(): void {
    let tries = FORGET_TRIES;
    for (const lane of this.#lanes.values()) {
      this.#lanes.delete(lane.address);
      if (!lane.flight && lane.departing === null && lane.queue.length === 0) return;
      // To be looked at again when its turn comes round.
      this.#lanes.set(lane.address, lane);
      if (--tries === 0) return;
    }
  }

  /** Sends what waits, if nothing is under way. */
  #depart(lane: Lane): void {
    lane.departing = null;
    if (lane.flight) return;
    const waiting = lane.board(BATCH_MAX);
    if (waiting.length === 0) {
      if (lane.idle) this.#lanes.delete(lane.address);
      return;
    }
    const { holder, terms, carry, link, ambient, leases } = this.#options;
    const { specs, plan } = terms.of(lane.address);
    const ops: number[] = [];
    for (const { kind, amount } of waiting) if (kind !== LEASE_ONLY) ops.push(kind, amount);
    const request: LedgerRequest = {
      v: 1,
      holder,
      seq: ++this.#seq,
      policies: specs,
      carry,
      ops,
      durability: link.durability,
    };
    if (plan) request.plan = plan;
    const sync = leases?.request(lane.address);
    if (sync) request.sync = sync;
    lane.flight = { request, waiting, sentAt: ambient.monotonic(), lastSentAt: 0, attempts: 0 };
    this.stats.requests++;
    this.#send(lane, lane.flight);
  }

  #send(lane: Lane, batch: Batch): void {
    const now = this.#options.ambient.monotonic();
    this.#breaker.tried(now);
    lane.breaker.tried(now);
    batch.attempts++;
    batch.lastSentAt = now;
    // A link that throws has failed as one that rejects.
    new Promise<LedgerReply>((resolve) => resolve(this.#options.link.ask(lane.address, batch.request))).then(
      (reply) => this.#arrived(lane, batch, reply),
      (error) => this.#failed(lane, batch, error),
    );
  }

  #arrived(lane: Lane, batch: Batch, reply: LedgerReply): void {
    const error = errorOf(reply);
    // A store that fails may be back in a moment, as a ledger out of reach may.
    if (error instanceof LimiterError && error.code === "storage") {
      this.#failed(lane, batch, error);
      return;
    }
    this.#troubled.clear();
    this.#breaker.succeeded();
    lane.breaker.succeeded();
    const { sync } = batch.request;
    if (sync && reply.lease && lane.flight === batch) {
      this.#options.leases?.arrived(lane.address, sync, reply.lease, batch.sentAt);
    }
    let index = 0;
    for (const waiting of batch.waiting) {
      if (error) this.#settle(waiting, null, error);
      else this.#settle(waiting, { reply, index, sentAt: batch.sentAt });
      if (waiting.kind !== LEASE_ONLY) index++;
    }
    if (lane.flight === batch) this.#next(lane);
  }

  /** Tries again with the same seq, so that nothing is charged twice, while someone waits. */
  #failed(lane: Lane, batch: Batch, error: unknown): void {
    lane.lastError = error;
    this.#options.onError?.(error);
    const { ambient, deadlineMs } = this.#options;
    if (lane.flight !== batch) return;
    const pause = RETRY_MS_MIN * 2 ** (batch.attempts - 1);
    const left = batch.sentAt + deadlineMs - ambient.monotonic();
    if (pause < left && batch.waiting.some((waiting) => !waiting.settled)) {
      this.stats.retries++;
      ambient.schedule(pause, () => {
        if (lane.flight === batch) this.#send(lane, batch);
      });
      return;
    }
    this.#giveUp(lane, batch);
  }

  #giveUp(lane: Lane, batch: Batch): void {
    const now = this.#options.ambient.monotonic();
    lane.breaker.failed(now);
    // One key's ledger that is gone must not stop the others: the link counts distinct keys.
    if (this.#breaker.blocking) this.#breaker.failed(now);
    else if (!this.#troubled.has(lane.address)) {
      this.#troubled.add(lane.address);
      this.#breaker.failed(now);
    }
    for (const waiting of batch.waiting) this.#settle(waiting, null);
    // Those behind it would wait just as much in vain while the ledger is thought to be gone.
    if (lane.breaker.blockedMs(now) > 0) {
      for (const waiting of lane.queue) this.#settle(waiting, null);
    }
    this.#next(lane);
  }

  /** The way is free: the first in line sends the next batch. */
  #next(lane: Lane): void {
    lane.flight = null;
    const { leader } = lane;
    if (!leader) {
      this.#depart(lane);
      return;
    }
    lane.departing = this.#options.ambient.monotonic();
    leader.wake();
  }

  /** One call's deadline has come. */
  #expire(waiting: Waiting): void {
    if (waiting.settled) return;
    const { lane } = waiting;
    const { ambient, deadlineMs } = this.#options;
    const isOverdue = (since: number) => ambient.monotonic() - since >= deadlineMs;
    this.stats.expired++;
    this.#settle(waiting, null);
    const batch = lane.flight;
    if (batch) {
      if (isOverdue(batch.sentAt) || batch.waiting.every((other) => other.settled)) this.#giveUp(lane, batch);
    } else if (lane.departing !== null && isOverdue(lane.departing)) this.#next(lane);
  }

  #settle(waiting: Waiting, delivery: Delivery | null, error: Error | null = null): void {
    if (waiting.settled) return;
    waiting.settled = true;
    waiting.delivery = delivery;
    waiting.error = error;
    waiting.wake();
    if (--this.#waiting === 0) this.#drained();
  }
}
