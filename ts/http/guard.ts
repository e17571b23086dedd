// What every adapter does with a request, whatever its framework: find the key and the cost, ask
// the limiter, and say which headers and which answer come of it.
import type { Decision, Key, Limiter } from "../contract.ts";
import { badOption, requireKnown, requireOneOf } from "../errors.ts";
import { type Field, type HeaderOptions, HeaderWriter, retryAfterSeconds, stylesOf } from "./headers.ts";
import { type KeyOf, type KeySource, sourceOf } from "./keys.ts";
import { isPromise, type Maybe } from "./maybe.ts";
import { type Refusal, refusalOf } from "./refusal.ts";
import type { Seen } from "./seen.ts";

/** An answer of the user's own, or none. */
// biome-ignore lint/suspicious/noConfusingVoidType: so that `(decision) => console.log(decision)` fits
export type Own<R> = R | undefined | void;

/**
 * @template A  what the framework passes to its handlers
 * @template R  what a handler may answer with
 */
export interface RateLimitOptions<A extends unknown[], R> {
  /** The limiter; or a function that finds it, where it can be made only when a request is there. */
  limiter: Limiter | ((...args: A) => Limiter);
  /** Whom a request counts against: byIp(), byHeader(name), byUser(of), compound(...), or a function. */
  key: KeyOf<A>;
  /** Tokens that a request takes, a positive integer; 1 unless given. */
  cost?: number | ((...args: A) => Maybe<number>);
  /** Requests to let pass unlimited and uncounted. */
  skip?: (...args: A) => Maybe<boolean>;
  /**
   * Is told of every request that is over its limit, and may answer in place of the problem. Its
   * answer gets the headers of a refusal. With `shadow` it is told only.
   */
  onLimit?: (decision: Decision, ...args: A) => Maybe<Own<R>>;
  /** The headers that tell clients about their budget; false: none but a refusal's. */
  headers?: HeaderOptions | false;
  /** Count and tell, but refuse nobody and write no headers: to try a limit out. */
  shadow?: boolean;
  /**
   * CORS preflights "pass" uncounted, unless given: they carry no credentials to make a key of,
   * and browsers show nobody their refusal. Say "limit" if your OPTIONS handlers do work.
   */
  preflight?: "pass" | "limit";
}

export const OPTION_NAMES = ["limiter", "key", "cost", "skip", "onLimit", "headers", "shadow", "preflight"];

/** What came of a request that was counted. */
export class Verdict {
  readonly decision: Decision;
  readonly #key: Key;
  readonly #limiter: Limiter;
  readonly #writer: HeaderWriter | null;

  constructor(decision: Decision, key: Key, limiter: Limiter, writer: HeaderWriter | null) {
    this.decision = decision;
    this.#key = key;
    this.#limiter = limiter;
    this.#writer = writer;
  }

  get refused(): boolean {
    return !this.decision.success;
  }

  /**
   * The headers of an admitted request's answer, as of now.
   * @param retryAfter  the answer's own Retry-After, if it has one
   */
  fields(retryAfter?: string | null): Field[] {
    const seconds = retryAfter ? Number(retryAfter) : Number.NaN;
    return this.#fields(Number.isInteger(seconds) ? seconds : Number.POSITIVE_INFINITY);
  }

  /** The answer to a refused request. */
  refusal(): Refusal {
    const { decision } = this;
    const quotas = this.#writer?.quotasFor(this.#key) ?? [];
    const violated = quotas.filter((_, index) => decision.each?.[index]?.success !== true);
    const names = quotas.length > 0 ? violated.map(({ name }) => name) : [this.#limiter.name];
    const refusal = refusalOf(decision, names);
    const told = this.#fields(retryAfterSeconds(decision) ?? Number.POSITIVE_INFINITY);
    // What an outer limiter has said of its budget could reach beyond this Retry-After.
    const fields = told.map((field) => (field.name.startsWith("ratelimit") ? { ...field, list: false } : field));
    return { ...refusal, fields: [...refusal.fields, ...fields] };
  }

  #fields(ceiling: number): Field[] {
    const { decision } = this;
    const now = this.#limiter.ambient.now();
    return this.#writer?.fields({ key: this.#key, decision, now, ceiling }) ?? [];
  }
}

/** Judges a request, at once where nothing has to be waited for; null: it is not limited. */
export type Guard<A extends unknown[]> = (seen: Seen, args: A) => Maybe<Verdict | null>;

/** @throws {RangeError} an option is missing, out of range or unknown */
export function guard<A extends unknown[], R>(options: RateLimitOptions<A, R>): Guard<A> {
  const { limiter, cost = 1, skip, onLimit, headers = {}, shadow = false, preflight = "pass" } = options;
  if (typeof limiter !== "function" && typeof limiter?.limit !== "function") {
    throw badOption("limiter", limiter, "made by createLimiter, or a function that returns one");
  }
  const source: KeySource<A> = sourceOf("key", options.key);
  for (const [name, value] of Object.entries({ skip, onLimit })) {
    if (value !== undefined && typeof value !== "function") throw badOption(name, value, "a function");
  }
  requireOneOf("preflight", preflight, ["pass", "limit"]);
  if (headers !== false) stylesOf(headers);

  let current: Limiter | undefined;
  let writer: HeaderWriter | null = null;
  const use = (next: Limiter): Limiter => {
    if (next !== current) {
      writer = headers === false || shadow ? null : new HeaderWriter(next, headers);
      current = next;
    }
    return next;
  };
  if (typeof limiter !== "function") use(limiter);

  const decided = (decision: Decision, key: Key, by: Limiter, headers: HeaderWriter | null, args: A) => {
    if (!shadow || decision.success) return new Verdict(decision, key, by, headers);
    const told = onLimit?.({ ...decision, success: true, reason: "shadow" }, ...args);
    return isPromise(told) ? told.then(() => null) : null;
  };
  const counted = (count: number, key: Key, by: Limiter, headers: HeaderWriter | null, args: A) => {
    const options = count === 1 ? undefined : { cost: count };
    // What wraps a limiter may have limit alone.
    const decision = by.decide ? by.decide(key, options) : by.limit(key, options);
    return isPromise(decision)
      ? decision.then((it) => decided(it, key, by, headers, args))
      : decided(decision, key, by, headers, args);
  };
  const keyed = (key: Key | null, args: A) => {
    if (key === null) return null;
    const by = use(typeof limiter === "function" ? limiter(...args) : limiter);
    const headers = writer;
    const count = typeof cost === "function" ? cost(...args) : cost;
    return isPromise(count)
      ? count.then((it) => counted(it, key, by, headers, args))
      : counted(count, key, by, headers, args);
  };
  const kept = (skipped: boolean, seen: Seen, args: A) => {
    if (skipped) return null;
    const key = source.keyOf(seen, ...args);
    return isPromise(key) ? key.then((it) => keyed(it, args)) : keyed(key, args);
  };
  return (seen, args) => {
    if (preflight === "pass" && isPreflight(seen)) return null;
    const skipped = skip ? skip(...args) : false;
    return isPromise(skipped) ? skipped.then((it) => kept(it, seen, args)) : kept(skipped, seen, args);
  };
}

function isPreflight(seen: Seen): boolean {
  return (
    seen.method === "OPTIONS" && seen.header("origin") !== null && seen.header("access-control-request-method") !== null
  );
}

/** Throws a RangeError for an option that no adapter has. */
export function requireOptions(options: unknown): void {
  requireKnown("rateLimit", options, OPTION_NAMES);
}
