import type {
  Clock,
  Decision,
  Key,
  Limiter,
  LimitOptions,
  Link,
  LocalLimiter,
  Op,
  Platform,
  Policy,
} from "./contract.ts";
import { instantiate } from "./core/instantiate.ts";
import type { Answer, Design, Holder } from "./designs/design.ts";
import { type LocalDesign, local } from "./designs/local.ts";
import { badOption, LimiterError, requireInteger, requireKnown } from "./errors.ts";
import { encodeKey } from "./key.ts";
import { tableLimiter } from "./local-limiter.ts";

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

/** Makes createLimiter for a platform. */
export function limiterFor({ clock: ambient, random }: Platform) {
  const TableLimiter = tableLimiter(KeyedLimiter);
  /**
   * Makes a limiter.
   *
   * @throws {RangeError} an option is missing, out of range, unknown, or does not fit another
   */
  function createLimiter(options: LimiterOptions & { design?: LocalDesign }): LocalLimiter;
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
    const holder = design.hold({ policy, clock, link, instantiate, random });
    if (holder.table) return new TableLimiter(name, policy, clock, holder, holder.table);
    return new KeyedLimiter(name, policy, clock, holder);
  }
  return createLimiter;
}

export class KeyedLimiter implements Limiter {
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
    return this.ask(key, ["take", costOf(options)]);
  }

  async peek(key: Key, options?: LimitOptions): Promise<Decision> {
    return this.ask(key, ["peek", costOf(options)]);
  }

  async refund(key: Key, count: number): Promise<Decision> {
    return this.ask(key, ["refund", requireInteger("count", count, 1, Number.MAX_SAFE_INTEGER)]);
  }

  async reset(key: Key): Promise<Decision> {
    return this.ask(key, ["reset"]);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#holder.close();
  }

  protected async ask(key: Key, op: Op): Promise<Decision> {
    const answer = await this.#holder.ask(this.#address(key), op, this.now());
    // Read again: the answer may have taken a while, and its durations count from its arrival.
    return this.decision(answer, op, this.now());
  }

  #address(key: Key): string {
    this.assertOpen();
    return encodeKey(key);
  }

  protected assertOpen(): void {
    if (this.#closed) throw new LimiterError("closed", `limiter "${this.name}" is closed`);
  }

  /** Whole epoch ms. Never earlier than the last one: a clock set back stands still here. */
  protected now(): number {
    const now = Math.floor(this.#clock.now());
    if (now === this.#last) return now;
    if (!Number.isSafeInteger(now) || now < 0) throw badOption("clock.now()", now, "a time in epoch ms, 0 or later");
    this.#last = Math.max(this.#last, now);
    return this.#last;
  }

  protected decision(answer: Answer, op: Op, now: number): Decision {
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

export function costOf(options: LimitOptions | undefined): number {
  if (options === undefined) return 1;
  requireKnown("limit", options, ["cost"]);
  return requireInteger("cost", options.cost ?? 1, 1, Number.MAX_SAFE_INTEGER);
}
