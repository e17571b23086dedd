// Queues of callers who would rather wait than be refused: one for each key, first come first
// served, so that nobody who wants much starves behind those who want little. Only the first
// of a queue asks the limiter, when its last refusal has said; one timer per queue, whatever
// its length.
import type { Abort, Decision, Key, Limiter, WaitOptions } from "./contract.ts";
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
    const { cost = 1, maxWait, signal } = options;
    requireInteger("cost", cost);
    const waitMs = maxWait === undefined ? Number.POSITIVE_INFINITY : toMs("maxWait", maxWait, 0);
    const address = encodeKey(key);
    signal?.throwIfAborted();
    const deadline = this.#limiter.ambient.monotonic() + waitMs;
    let queue = this.#queues.get(address);
    if (!queue) {
      queue = new Queue(this.#limiter.ambient, this.#takes, key, () => this.#queues.delete(address));
      this.#queues.set(address, queue);
    }
    return queue.wait(cost, deadline, signal);
  }

  /** Nobody waits any longer. */
  close(): void {
    const closed = new LimiterError("closed", `limiter "${this.#limiter.name}" is closed`);
    for (const queue of this.#queues.values()) queue.close(closed);
    this.#queues.clear();
  }
}

/** Those who wait for one key. */
class Queue {
  readonly #ambient: Limiter["ambient"];
  readonly #takes: Takes;
  readonly #key: Key;
  readonly #ended: () => void;
  readonly #waiters = new Set<Waiter>();
  /** Those whom the limiter is asked for right now. */
  #asking: readonly Waiter[] = [];
  /** When to ask for the first one, monotonic ms. */
  #askAt = 0;
  /** The last refusal, and when it came. */
  #refusal: { decision: Decision; at: number } | undefined;
  /** No waiter's deadline is earlier. */
  #earliest = Number.POSITIVE_INFINITY;
  #cancel = () => {};

  /** @param ended  is called when nobody is left */
  constructor(ambient: Limiter["ambient"], takes: Takes, key: Key, ended: () => void) {
    this.#ambient = ambient;
    this.#takes = takes;
    this.#key = key;
    this.#ended = ended;
  }

  /** @param deadline  monotonic ms */
  async wait(cost: number, deadline: number, signal: Abort | undefined): Promise<Decision> {
    let leave = () => {};
    try {
      return await new Promise<Decision>((resolve, reject) => {
        const waiter = { cost, deadline, resolve, reject };
        leave = () => this.#leave(waiter, signal?.reason);
        signal?.addEventListener("abort", leave);
        this.#join(waiter);
      });
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  close(reason: unknown): void {
    this.#cancel();
    for (const waiter of this.#waiters) waiter.reject(reason);
    this.#waiters.clear();
  }

  get #first(): Waiter | undefined {
    return this.#waiters.values().next().value;
  }

  #join(waiter: Waiter): void {
    this.#waiters.add(waiter);
    if (this.#waiters.size > 1 && waiter.deadline >= this.#earliest) return;
    this.#earliest = Math.min(this.#earliest, waiter.deadline);
    this.#advance();
  }

  #leave(waiter: Waiter, reason: unknown): void {
    // The next one may want less than the refused one did.
    if (this.#first === waiter) this.#askAt = 0;
    if (!this.#waiters.delete(waiter)) return;
    waiter.reject(reason);
    this.#advance();
  }

  /** Does what is due, and sets the timer for what is next. */
  #advance(): void {
    this.#cancel();
    this.#cancel = () => {};
    const now = this.#ambient.monotonic();
    const next = this.#first;
    if (next && this.#asking.length === 0 && this.#askAt <= now) this.#ask(next, now);
    // Last, so that whoever's time is over right now has been asked for.
    if (this.#refusal && this.#earliest <= now) this.#expire(this.#refusal, now);
    const isAsking = this.#asking.length > 0;
    if (this.#waiters.size === 0 && !isAsking) {
      this.#ended();
      return;
    }
    // Until the first refusal there is nothing to answer with, and it is on its way.
    const deadline = this.#refusal ? this.#earliest : Number.POSITIVE_INFINITY;
    const at = isAsking ? deadline : Math.min(this.#askAt, deadline);
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#ambient.schedule(Math.max(Math.ceil(at - now), 0), () => this.#advance());
  }

  /** Those whose time is over, but for whoever's answer is on its way. */
  #over(now: number): Waiter[] {
    const over: Waiter[] = [];
    this.#earliest = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiters) {
      if (this.#asking.includes(waiter)) continue;
      if (waiter.deadline > now) this.#earliest = Math.min(this.#earliest, waiter.deadline);
      else over.push(waiter);
    }
    return over;
  }

  /** Refuses those whose time is over. */
  #expire({ decision, at }: { decision: Decision; at: number }, now: number): void {
    // Whoever stands behind can't be admitted before the one who was refused.
    const { retryAfterMs } = decision;
    const left = retryAfterMs === null ? null : Math.max(1, Math.ceil(retryAfterMs - (now - at)));
    for (const waiter of this.#over(now)) {
      if (waiter === this.#first) this.#askAt = 0;
      this.#waiters.delete(waiter);
      waiter.resolve({ ...decision, retryAfterMs: left });
    }
  }

  /** Asks for the first one, and for all whose time is over while there is nothing to refuse them with. */
  async #ask(first: Waiter, now: number): Promise<void> {
    this.#asking = [first];
    if (!this.#refusal && this.#earliest <= now) this.#asking = [first, ...this.#over(now)];
    await Promise.all(this.#asking.map((waiter) => this.#askFor(waiter)));
    this.#asking = [];
    this.#advance();
  }

  async #askFor(waiter: Waiter): Promise<void> {
    try {
      const taken = await this.#takes.take(this.#key, waiter.cost);
      taken.close();
      if (this.#waiters.has(waiter)) this.#answer(waiter, taken.decision);
      // Whoever left meanwhile needs nothing any more. If it can't be given back, it stays used.
      else await taken.giveBack(waiter.cost).catch(() => {});
    } catch (error) {
      this.#waiters.delete(waiter);
      waiter.reject(error);
    }
  }

  /** Admits the first one, or refuses it, or lets it stand until it is to be asked for again. */
  #answer(waiter: Waiter, decision: Decision): void {
    this.#askAt = 0;
    if (!decision.success) {
      const at = this.#ambient.monotonic();
      this.#refusal = { decision, at };
      const { retryAfterMs } = decision;
      if (retryAfterMs !== null && at + retryAfterMs <= waiter.deadline) {
        this.#askAt = at + retryAfterMs;
        return;
      }
    }
    this.#waiters.delete(waiter);
    waiter.resolve(decision);
  }
}
