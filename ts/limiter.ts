import type {
  Ambient,
  Bounds,
  BoundsOptions,
  Decision,
  Hold,
  Key,
  LimitOptions,
  LocalLimiter,
  Op,
  Outcome,
  Policy,
  ReserveOptions,
  WaitOptions,
} from "./contract.ts";
import type { Answer, Holder } from "./designs/design.ts";
import { badOption, LimiterError, requireInteger, requireKnown } from "./errors.ts";
import { reserveFrom } from "./hold.ts";
import { encodeKey } from "./key.ts";
import { toMs } from "./policies/duration.ts";
import { Takes } from "./takes.ts";
import { WaitingRoom } from "./wait.ts";

/** A limiter: keys, costs and decisions around what a design's holder decides. */
export class KeyedLimiter implements LocalLimiter {
  readonly name: string;
  readonly policies: readonly Policy[];
  readonly ambient: Ambient;
  readonly #holder: Holder;
  readonly #takes = new Takes(this);
  readonly #waiting = new WaitingRoom(this, this.#takes);
  readonly #counts = { admitted: 0, denied: 0 };
  #closed = false;
  #last = 0;

  constructor(name: string, policies: readonly Policy[], ambient: Ambient, holder: Holder) {
    this.name = name;
    this.policies = policies;
    this.ambient = ambient;
    this.#holder = holder;
  }

  limit(key: Key, options?: LimitOptions): Promise<Decision> {
    return this.#ask(key, () => ["take", costOf(options)]);
  }

  limitSync(key: Key, options?: LimitOptions): Decision {
    if (!this.#holder.askSync) {
      throw new LimiterError("unsupported", "limitSync needs the design local(); use await limit(...)");
    }
    const op: Op = ["take", costOf(options)];
    const address = this.#address(key);
    const now = this.#now();
    return this.#decision(this.#holder.askSync(address, op, now), op, now);
  }

  async limitMany(keys: readonly Key[], costs?: readonly number[]): Promise<Decision[]> {
    if (costs && costs.length !== keys.length) throw badOption("costs", costs, `as long as keys, ${keys.length}`);
    return Promise.all(keys.map((key, index) => this.limit(key, costs && { cost: costs[index] as number })));
  }

  wait(key: Key, options?: WaitOptions): Promise<Decision> {
    return this.#waiting.wait(key, options);
  }

  reserve(key: Key, estimate: number, options?: ReserveOptions): Promise<Hold> {
    return reserveFrom(this, this.#takes, key, estimate, options);
  }

  peek(key: Key, options?: LimitOptions): Promise<Decision> {
    return this.#ask(key, () => ["peek", costOf(options)]);
  }

  refund(key: Key, count: number): Promise<Decision> {
    return this.#ask(key, () => ["refund", requireInteger("count", count, 1, Number.MAX_SAFE_INTEGER)]);
  }

  reset(key: Key): Promise<Decision> {
    return this.#ask(key, () => ["reset"]);
  }

  bounds(options: BoundsOptions = {}): Bounds {
    requireKnown("bounds", options, ["pops", "rtt"]);
    const pops = requireInteger("pops", options.pops ?? 1, 1, 1_000_000);
    return this.#holder.bounds({ pops, rttMs: toMs("rtt", options.rtt ?? 0, 0) });
  }

  stats(): Record<string, number> {
    return { ...this.#counts, ...this.#holder.stats() };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting.close();
    await this.#holder.close();
  }

  async #ask(key: Key, opOf: () => Op): Promise<Decision> {
    const op = opOf();
    const answer = await this.#holder.ask(this.#address(key), op, this.#now());
    // Read again: the answer may have taken a while, and its durations count from its arrival.
    return this.#decision(answer, op, this.#now());
  }

  #address(key: Key): string {
    if (this.#closed) throw new LimiterError("closed", `limiter "${this.name}" is closed`);
    return encodeKey(key);
  }

  /** Whole epoch ms. Never earlier than the last one: a clock set back stands still here. */
  #now(): number {
    const now = Math.floor(this.ambient.now());
    if (!Number.isSafeInteger(now) || now < 0) throw badOption("clock.now()", now, "a time in epoch ms, 0 or later");
    this.#last = Math.max(this.#last, now);
    return this.#last;
  }

  #decision(answer: Answer, op: Op, now: number): Decision {
    const capacity = (this.policies[0] as Policy).capacity;
    if (op[0] === "take") this.#counts[answer.admitted ? "admitted" : "denied"]++;
    const decision: Decision = {
      ...decided(answer, answer.limit ?? capacity, now),
      reason: answer.unreachable
        ? "unreachable"
        : answer.admitted
          ? "ok"
          : answer.retryAfterMs === null
            ? "cost_exceeds_capacity"
            : "limited",
      policy: this.name,
      source: answer.source,
    };
    if (answer.each) decision.each = answer.each.map((outcome) => decided(outcome, outcome.limit, now));
    return decision;
  }
}

function decided(outcome: Outcome, limit: number, now: number) {
  const { admitted, remaining, resetMs, retryAfterMs } = outcome;
  return { success: admitted, limit, remaining, reset: now + resetMs, retryAfterMs };
}

function costOf(options: LimitOptions | undefined): number {
  if (options === undefined) return 1;
  requireKnown("limit", options, ["cost"]);
  return requireInteger("cost", options.cost ?? 1, 1, Number.MAX_SAFE_INTEGER);
}
