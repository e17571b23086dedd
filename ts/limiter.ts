import type { Clock, Decision, Key, Limiter, LimitOptions, Link, LocalLimiter, Op, Policy } from "./contract.ts";
import { instantiate } from "./core/instantiate.ts";
import type { Answer, Design, Holder } from "./designs/design.ts";
import { local } from "./designs/local.ts";
import { badOption, LimiterError, requireInteger, requireKnown } from "./errors.ts";
import { encodeKey } from "./key.ts";

export interface LimiterOptions {
  policy: Policy;
  /** Shows in headers and metrics, and keeps this limiter's keys apart from others' on the same ledgers. */
  name?: string;
  /** local() unless given. */
  design?: Design;
  /** How to reach the ledger; from a host, such as durableObject(env.LEDGER). */
  link?: Link;
  /** The time; the platform's unless given. For tests. */
  clock?: Clock;
}

/** Makes createLimiter for a platform, which gives the time. */
export function limiterFor(ambient: Clock) {
  /**
   * Makes a limiter.
   *
   * @throws {RangeError} an option is missing, out of range, unknown, or does not fit another
   */
  function createLimiter(options: LimiterOptions & { design?: undefined }): LocalLimiter;
  function createLimiter(options: LimiterOptions): Limiter;
  function createLimiter(options: LimiterOptions): Limiter {
    requireKnown("createLimiter", options, ["policy", "name", "design", "link", "clock"]);
    const { policy, name = "default", design = local(), link, clock = ambient } = options;
    if (!policy?.constants) throw badOption("policy", policy, "made by tokenBucket, fixedWindow or slidingWindow");
    if (typeof name !== "string" || name === "") throw badOption("name", name, "a non-empty string");
    if (typeof design?.hold !== "function") throw badOption("design", design, "made by local() or exact()");
    if (typeof clock?.now !== "function") throw badOption("clock", clock, "an object with now(), which gives epoch ms");
    if (design.needsLink && !link) throw new RangeError(`design ${design.kind}() needs a link to its ledgers`);
    if (!design.needsLink && link) throw new RangeError(`design ${design.kind}() takes no link`);
    return new KeyedLimiter(name, policy, clock, design.hold({ policy, clock, link, instantiate }));
  }
  return createLimiter;
}

class KeyedLimiter implements LocalLimiter {
  readonly name: string;
  readonly policy: Policy;
  readonly #clock: Clock;
  readonly #holder: Holder;
  #closed = false;
  #last = 0;

  constructor(name: string, policy: Policy, clock: Clock, holder: Holder) {
    this.name = name;
    this.policy = policy;
    this.#clock = clock;
    this.#holder = holder;
  }

  async limit(key: Key, options?: LimitOptions): Promise<Decision> {
    return this.#ask(key, ["take", costOf(options)]);
  }

  limitSync(key: Key, options?: LimitOptions): Decision {
    if (!this.#holder.askSync)
      throw new LimiterError("unsupported", "limitSync needs the design local(); use await limit(...)");
    const op: Op = ["take", costOf(options)];
    const address = this.#address(key);
    const now = this.#now();
    return this.#decision(this.#holder.askSync(address, op, now), op, now);
  }

  async peek(key: Key, options?: LimitOptions): Promise<Decision> {
    return this.#ask(key, ["peek", costOf(options)]);
  }

  async refund(key: Key, count: number): Promise<Decision> {
    return this.#ask(key, ["refund", requireInteger("count", count, 1, Number.MAX_SAFE_INTEGER)]);
  }

  async reset(key: Key): Promise<Decision> {
    return this.#ask(key, ["reset"]);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#holder.close();
  }

  async #ask(key: Key, op: Op): Promise<Decision> {
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
    const now = Math.floor(this.#clock.now());
    if (!Number.isSafeInteger(now) || now < 0) throw badOption("clock.now()", now, "a time in epoch ms, 0 or later");
    this.#last = Math.max(this.#last, now);
    return this.#last;
  }

  #decision(answer: Answer, op: Op, now: number): Decision {
    const limit = this.policy.capacity;
    return {
      success: answer.admitted,
      limit,
      remaining: answer.remaining,
      reset: now + answer.resetMs,
      retryAfterMs: answer.retryAfterMs,
      reason: answer.admitted ? "ok" : op[0] !== "reset" && op[1] > limit ? "cost_exceeds_capacity" : "limited",
      policy: this.name,
      source: answer.source,
    };
  }
}

function costOf(options: LimitOptions | undefined): number {
  if (options === undefined) return 1;
  requireKnown("limit", options, ["cost"]);
  return requireInteger("cost", options.cost ?? 1, 1, Number.MAX_SAFE_INTEGER);
}
