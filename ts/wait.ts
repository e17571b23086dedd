// Queues of callers who would rather wait than be refused: one for each key, first come first
// served, so that nobody who wants much starves behind those who want little. Only the first
// of a queue asks the limiter, when its last refusal has said; one timer per queue, whatever
// its length.
import type { Decision, Key, Limiter, WaitOptions } from "./contract.ts";
import { LimiterError, requireInteger, requireKnown } from "./errors.ts";
import { encodeKey } from "./key.ts";
import { toMs } from "./policies/duration.ts";
import type { Takes } from "./takes.ts";

interface Waiter {
  cost: number;
  /** Monotonic ms. */
  deadline: number;
  resolve(decision: Decision): void;
  reject(reason: unknown): void;
}

interface Queue {
  key: Key;
  waiters: Set<Waiter>;
  /** Whom the limiter is asked for right now. */
  asking: Waiter | undefined;
  /** When to ask for the first one, monotonic ms. */
  askAt: number;
  /** The last refusal, and when it came. */
  refusal: { decision: Decision; at: number } | undefined;
  /** No waiter's deadline is earlier. */
  earliest: number;
  cancel: () => void;
}

export class WaitingRoom {
  readonly #limiter: Pick<Limiter, "name" | "ambient">;
  readonly #takes: Takes;
  readonly #queues = new Map<string, Queue>();

  constructor(limiter: Pick<Limiter, "name" | "ambient">, takes: Takes) {
    this.#limiter = limiter;
    this.#takes = takes;
  }

  async wait(key: Key, options: WaitOptions = {}): Promise<Decision> {
    requireKnown("wait", options, ["cost", "maxWait", "signal"]);
    const { maxWait, signal } = options;
    const cost = requireInteger("cost", options.cost ?? 1);
    const waitMs = maxWait === undefined ? Number.POSITIVE_INFINITY : toMs("maxWait", maxWait, 0);
    const address = encodeKey(key);
    signal?.throwIfAborted();
    const deadline = this.#now() + waitMs;
    let leave = () => {};
    try {
      return await new Promise<Decision>((resolve, reject) => {
        const waiter = { cost, deadline, resolve, reject };
        leave = () => this.#leave(address, waiter, signal?.reason);
        signal?.addEventListener("abort", leave);
        this.#join(address, key, waiter);
      });
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Nobody waits any longer. */
  close(): void {
    for (const queue of this.#queues.values()) {
      queue.cancel();
      for (const waiter of queue.waiters) {
        waiter.reject(new LimiterError("closed", `limiter "${this.#limiter.name}" is closed`));
      }
      queue.waiters.clear();
    }
    this.#queues.clear();
  }

  #now(): number {
    return this.#limiter.ambient.monotonic();
  }

  #join(address: string, key: Key, waiter: Waiter): void {
    let queue = this.#queues.get(address);
    if (!queue) {
      const earliest = Number.POSITIVE_INFINITY;
      queue = { key, waiters: new Set(), asking: undefined, askAt: 0, refusal: undefined, earliest, cancel: () => {} };
      this.#queues.set(address, queue);
    }
    queue.waiters.add(waiter);
    if (queue.waiters.size === 1 || waiter.deadline < queue.earliest) {
      queue.earliest = Math.min(queue.earliest, waiter.deadline);
      this.#advance(address, queue);
    }
  }

  #leave(address: string, waiter: Waiter, reason: unknown): void {
    const queue = this.#queues.get(address);
    if (!queue?.waiters.has(waiter)) return;
    const wasFirst = first(queue) === waiter;
    queue.waiters.delete(waiter);
    waiter.reject(reason);
    // The next one may want less than the refused one did.
    if (wasFirst) queue.askAt = 0;
    this.#advance(address, queue);
  }

  /** Does what is due in a queue, and sets its timer for what is next. */
  #advance(address: string, queue: Queue): void {
    queue.cancel();
    queue.cancel = () => {};
    const now = this.#now();
    const next = first(queue);
    if (next && !queue.asking && queue.askAt <= now) this.#ask(address, queue, next);
    // Last, so that whoever's time is over right now has been asked for.
    if (queue.earliest <= now) this.#expire(queue, now);
    if (queue.waiters.size === 0 && !queue.asking) {
      this.#queues.delete(address);
      return;
    }
    // Until the first refusal there is nothing to answer with, and it is on its way.
    const deadline = queue.refusal ? queue.earliest : Number.POSITIVE_INFINITY;
    const at = Math.min(queue.asking ? Number.POSITIVE_INFINITY : queue.askAt, deadline);
    if (at === Number.POSITIVE_INFINITY) return;
    const delay = Math.max(Math.ceil(at - now), 0);
    queue.cancel = this.#limiter.ambient.schedule(delay, () => this.#advance(address, queue));
  }

  /** Refuses those whose time is over, but for the one whose answer is on its way. */
  #expire(queue: Queue, now: number): void {
    if (!queue.refusal) return;
    const { decision, at } = queue.refusal;
    // Whoever stands behind can't be admitted before the one who was refused.
    const { retryAfterMs } = decision;
    const left = retryAfterMs === null ? null : Math.max(1, Math.ceil(retryAfterMs - (now - at)));
    queue.earliest = Number.POSITIVE_INFINITY;
    for (const waiter of queue.waiters) {
      if (waiter === queue.asking) continue;
      if (waiter.deadline > now) {
        queue.earliest = Math.min(queue.earliest, waiter.deadline);
        continue;
      }
      if (waiter === first(queue)) queue.askAt = 0;
      queue.waiters.delete(waiter);
      waiter.resolve({ ...decision, retryAfterMs: left });
    }
  }

  async #ask(address: string, queue: Queue, waiter: Waiter): Promise<void> {
    queue.asking = waiter;
    try {
      const taken = await this.#takes.take(queue.key, waiter.cost);
      taken.close();
      if (queue.waiters.has(waiter)) this.#answer(queue, waiter, taken.decision);
      // Whoever left meanwhile needs nothing any more. If it can't be given back, it stays used.
      else await this.#takes.giveBack(taken, taken.cost).catch(() => {});
    } catch (error) {
      queue.waiters.delete(waiter);
      waiter.reject(error);
    }
    queue.asking = undefined;
    this.#advance(address, queue);
  }

  /** Admits the first one, or refuses it, or lets it stand until it is to be asked for again. */
  #answer(queue: Queue, waiter: Waiter, decision: Decision): void {
    queue.askAt = 0;
    if (!decision.success) {
      const at = this.#now();
      queue.refusal = { decision, at };
      const { retryAfterMs } = decision;
      if (retryAfterMs !== null && at + retryAfterMs <= waiter.deadline) {
        queue.askAt = at + retryAfterMs;
        return;
      }
    }
    queue.waiters.delete(waiter);
    waiter.resolve(decision);
  }
}

function first(queue: Queue): Waiter | undefined {
  return queue.waiters.values().next().value;
}
