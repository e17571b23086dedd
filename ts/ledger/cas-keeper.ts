// Runs ledgers whose store is shared by several processes, none of which owns a key: read, step,
// and store the outcome unless somebody else stored one meanwhile; then begin again.
import type { CoreExports } from "../core/exports.ts";
import { LimiterError } from "../errors.ts";
import type { LedgerReply, LedgerRequest } from "./messages.ts";
import { metersOf } from "./meters.ts";
import type { Meters } from "./run.ts";
import type { HolderState, LedgerState } from "./state.ts";
import { step } from "./step.ts";

/** What a shared store holds of a key, and the mark by which it knows whether that has changed. */
export interface CasRead<Mark> {
  state: LedgerState | null;
  /** Of the holders that were asked for, those it remembers. */
  holders: [holder: string, state: HolderState][];
  mark: Mark;
}

/** What a batch changes. */
export interface CasChange {
  state: LedgerState | null;
  holders: [holder: string, state: HolderState][];
  /** Ms from now until the state says nothing any more. */
  wholeInMs: number;
}

/** A store that several processes share. */
export interface CasStore<Mark> {
  /** Holders that one read can ask for. */
  readonly holdersMax: number;
  /** What is stored now, and not what was a moment ago. @throws if it can't be read */
  read(address: string, holders: readonly string[]): Promise<CasRead<Mark>>;
  /**
   * Stores all of it if nothing has changed since the read; false: something has, and nothing
   * was stored.
   * @throws if that is unknown
   */
  write(mark: Mark, change: CasChange): Promise<boolean>;
}

/** What a host lends to its keeper. */
export interface CasHost<Mark> {
  store: CasStore<Mark>;
  /** Epoch ms. */
  now(): number;
  /** Waits before the next attempt, longer and more at random the more have failed. */
  pause(failed: number): Promise<void>;
  instantiate(): CoreExports;
}

interface Waiting {
  request: LedgerRequest;
  resolve(reply: LedgerReply): void;
  reject(error: unknown): void;
}

/** Attempts at one commit. */
const ATTEMPTS_MAX = 16;

/**
 * Safety: a decision is made on what is stored at the moment that it is stored, so that no two
 * processes admit the same tokens (`test/ledger/cas-keeper.test.ts`). Time at a key is the
 * furthest ahead of the clocks that have written it, and never goes back: with clocks that
 * differ by at most s, admissions within any interval of length t stay within what the policy
 * admits in t + s. A bucket so admits at most rate × s too much.
 *
 * Cost: a read and, where something changes, a write for all that wait for the key in this
 * process; the processes that write one key at once try again in turn.
 */
export class CasKeeper<Mark> {
  readonly #host: CasHost<Mark>;
  readonly #meters: Meters;
  /** Those who wait for a key, while somebody works on it. */
  readonly #queues = new Map<string, Waiting[]>();
  #closed = false;

  constructor(host: CasHost<Mark>) {
    this.#host = host;
    this.#meters = metersOf(() => host.instantiate());
  }

  /**
   * Decides a request, and answers when what it changed is stored.
   * @throws {RangeError} the request makes no sense
   * @throws {LimiterError} "storage": the state can't be read or stored, or others kept changing it
   */
  ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    if (this.#closed) return Promise.reject(new LimiterError("closed", "the ledger host is closed"));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { request, resolve, reject };
      const queue = this.#queues.get(address);
      if (queue) {
        queue.push(waiting);
        return;
      }
      this.#queues.set(address, [waiting]);
      // What else this tick asks of the key comes along.
      queueMicrotask(() => void this.#work(address));
    });
  }

  /** Takes no more requests; those that wait are still decided. */
  close(): void {
    this.#closed = true;
  }

  async #work(address: string): Promise<void> {
    const queue = this.#queues.get(address) ?? [];
    while (queue.length > 0) {
      const batch = queue.splice(0, this.#host.store.holdersMax);
      try {
        await this.#commit(address, batch);
      } catch (cause) {
        const message = `the ledger could not read or store its state: ${cause}`;
        const error = cause instanceof LimiterError ? cause : new LimiterError("storage", message, { cause });
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#queues.delete(address);
  }

  async #commit(address: string, batch: Waiting[]): Promise<void> {
    const { store } = this.#host;
    const holders = [...new Set(batch.map(({ request }) => request.holder))];
    for (let failed = 0; failed < ATTEMPTS_MAX; failed++) {
      if (failed > 0) await this.#host.pause(failed);
      const read = await store.read(address, holders);
      const { answers, change } = this.#decide(read, batch);
      if (change && !(await store.write(read.mark, change))) continue;
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index] as LedgerReply | Error;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
      return;
    }
    throw new LimiterError(
      "storage",
      `others changed the key at each of ${ATTEMPTS_MAX} attempts; nothing was decided`,
    );
  }

  #decide(read: CasRead<Mark>, batch: Waiting[]): { answers: (LedgerReply | Error)[]; change: CasChange | null } {
    const now = Math.max(Math.floor(this.#host.now()), ...(read.state?.keys.map(({ at }) => at) ?? []));
    const known = new Map(read.holders);
    const changed = new Map<string, HolderState>();
    let { state } = read;
    let wake = now;
    const answers = batch.map(({ request }) => {
      try {
        const result = step(this.#meters, state, known.get(request.holder), request, now);
        if (!result.replayed) {
          const holder = { seq: request.seq, at: now, before: state };
          known.set(request.holder, holder);
          if (result.changed) changed.set(request.holder, holder);
          ({ state, wake } = result);
        }
        return result.reply;
      } catch (error) {
        return error as Error;
      }
    });
    if (changed.size === 0) return { answers, change: null };
    return { answers, change: { state, holders: [...changed], wholeInMs: wake - now } };
  }
}
