// The types that all layers share. Types only: nothing here runs.

/** What one of several policies says to a call. */
export interface PolicyDecision {
  success: boolean;
  limit: number;
  remaining: number;
  reset: number;
  retryAfterMs: number | null;
}

/** What a limiter answers. Refusals are answers too; only failures throw. */
export interface Decision {
  /** Whether the call may proceed. */
  success: boolean;
  /** The policy's capacity: burst, or limit per window. */
  limit: number;
  /** Whole tokens left, >= 0. Exact from `local` and `ledger`, else never more than the truth. */
  remaining: number;
  /** When the budget is whole again (a fixed window: when it ends), epoch ms. */
  reset: number;
  /** Least ms after which the same call succeeds if nobody else comes; 0: now; null: never. */
  retryAfterMs: number | null;
  reason: "ok" | "limited" | "plan_cap" | "cost_exceeds_capacity" | "unreachable" | "shadow";
  /** The limiter's name. */
  policy: string;
  source: Source;
  /**
   * With several policies: what each says, in their order. The decision's own numbers are then
   * those of the tightest one: the refusing one that takes longest, or the least left.
   */
  each?: readonly PolicyDecision[];
}

/** Where a decision was taken. */
export type Source = "local" | "ledger" | "lease" | "overdraft" | "share" | "cache" | "fallback";

/** A policy as it travels between processes: what the user said, in plain numbers. */
export type PolicySpec =
  | { kind: "tokenBucket"; rate: number; per: number; burst: number }
  | { kind: "fixedWindow"; limit: number; window: number }
  | { kind: "slidingWindow"; limit: number; window: number; resolution: number };

/** A checked policy, made by tokenBucket, fixedWindow or slidingWindow. */
export interface Policy {
  readonly kind: PolicySpec["kind"];
  readonly spec: Readonly<PolicySpec>;
  /** Most tokens that one call can take: burst, or limit. */
  readonly capacity: number;
  /** Whether the arithmetic is the policy's own, or its rate was rounded down to fit. */
  readonly exact: boolean;
  /** The constants of the arithmetic, as core-as/<kind>.ts lists them. */
  readonly constants: readonly number[];
  /** How many numbers a key's state takes, at most. */
  readonly stateCells: number;
}

/** The state of one key under one policy. */
export interface KeyState {
  /** When it was last written, epoch ms; a token bucket's numbers count from here. */
  at: number;
  /** The state of core-as/<kind>.ts without trailing zeros. */
  cells: number[];
}

/** What a policy says to one call. Durations only: clocks differ between machines. */
export interface Outcome {
  admitted: boolean;
  remaining: number;
  retryAfterMs: number | null;
  resetMs: number;
}

/** One call on a key: take or only look at `amount` tokens, give them back, or start afresh. */
export type Op = ["take" | "peek" | "refund", amount: number] | ["reset"];

/** The part of an AbortSignal that is used; said here, since not every type library has one. */
export interface Abort {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The time, epoch ms. */
export interface Clock {
  now(): number;
}

/** What a limiter needs of the platform that it runs on. */
export interface Ambient extends Clock {
  /** Ms since some moment, never set back. */
  monotonic(): number;
  /** Calls back after `ms`, however many; the returned function cancels. */
  schedule(ms: number, callback: () => void): () => void;
  /** Fills `bytes` with random ones. */
  random(bytes: Uint8Array): void;
}

/** A key: a non-empty string, or a non-empty array of strings. */
export type Key = string | readonly string[];

export interface LimitOptions {
  /** Tokens to take, a positive integer; 1 unless given. */
  cost?: number;
}

export interface WaitOptions extends LimitOptions {
  /** Longest wait, ms or like "2s"; for as long as it takes unless given. */
  maxWait?: number | string;
  /** Ends the wait: it rejects with the signal's reason. */
  signal?: Abort;
}

export interface ReserveOptions {
  /** After how long what is neither committed nor released is given back; "1m" unless given. */
  ttl?: number | string;
  /** Releases the hold when it aborts. */
  signal?: Abort;
}

/** Tokens taken for work whose cost shows only at its end. */
export interface Hold {
  /** Whether they could be taken. If not, there is nothing to do, and commit and release do nothing. */
  readonly decision: Decision;
  /**
   * Settles what the work cost, once: later calls of either kind change nothing. What it did not
   * use is given back; what it used beyond the estimate is taken as far as the budget reaches.
   *
   * @param actual  tokens, an integer >= 0
   * @returns tokens that the budget was charged: never less than `actual` or what it could pay
   * @throws {RangeError} actual is none
   */
  commit(actual: number): Promise<number>;
  /** Gives everything back, as commit(0) does. */
  release(): Promise<number>;
}

/** A limiter over ledgers. */
export interface Limiter {
  readonly name: string;
  /** The time that it decides by, and the timers and randomness that go with it. */
  readonly ambient: Ambient;
  /** All of them must admit a call. With a plan: those of endpoints without their own, and the plan's. */
  readonly policies: readonly Policy[];
  /** Those that hold for a key, in the order of a decision's `each`. @throws {RangeError} bad key */
  policiesOf(key: Key): readonly Policy[];
  /** Decides a call, and takes its cost if it is admitted. @throws {RangeError} bad key or cost */
  limit(key: Key, options?: LimitOptions): Promise<Decision>;
  /**
   * limit, with a promise only where there is something to wait for: a lease in hand answers at
   * once. Throws where limit rejects.
   */
  decide(key: Key, options?: LimitOptions): Decision | Promise<Decision>;
  /**
   * Decides a call on each of several keys.
   * @param costs  one for each key; 1 unless given
   */
  limitMany(keys: readonly Key[], costs?: readonly number[]): Decision[] | Promise<Decision[]>;
  /**
   * Queues until the call is admitted, behind those who wait on the same key here. Answers with a
   * refusal as soon as it can't be admitted within maxWait, or ever.
   * @throws {RangeError} bad key, cost or maxWait
   */
  wait(key: Key, options?: WaitOptions): Promise<Decision>;
  /**
   * Takes `estimate` tokens for work whose cost shows later: see Hold.
   * @throws {RangeError} bad key, estimate or ttl
   */
  reserve(key: Key, estimate: number, options?: ReserveOptions): Promise<Hold>;
  /** What limit would answer now, taking nothing. */
  peek(key: Key, options?: LimitOptions): Promise<Decision>;
  /** Gives `count` tokens back, up to the capacity, and answers as peek does. */
  refund(key: Key, count: number): Promise<Decision>;
  /** Forgets the key: its budget is whole. Answers as peek does. */
  reset(key: Key): Promise<Decision>;
  /** What this limiter gives up, in numbers. @throws {RangeError} an option is out of range */
  bounds(options?: BoundsOptions): Bounds;
  /** What it did so far: counts since it was made. */
  stats(): Readonly<Record<string, number>>;
  /**
   * Hands back what is held, and lets calls under way have their answers, whose deadline is the
   * longest that it takes. From now on the limiter throws LimiterError "closed".
   */
  close(): Promise<void>;
}

/** A key of a limiter within this process: also a safe integer, or 16 bytes such as an IPv6 address. */
export type LocalKey = Key | number | Uint8Array;

/** What a full table does with a new key, and how often it had to; see local(). */
export type LocalStats = {
  /** Keys held, with those whose budget has become whole and whose place is not yet used again. */
  keys: number;
  maxKeys: number;
  /** Memory of the table, bytes. */
  bytes: number;
  /** New keys that were denied because the table was full. */
  deniedNew: number;
  /** New keys that were admitted and not remembered because the table was full. */
  allowedNew: number;
  /** Keys that were forgotten, with what they had used, because the table was full. */
  evicted: number;
};

/** A limiter within this process: it can also answer at once. */
export interface LocalLimiter extends Limiter {
  limit(key: LocalKey, options?: LimitOptions): Promise<Decision>;
  peek(key: LocalKey, options?: LimitOptions): Promise<Decision>;
  refund(key: LocalKey, count: number): Promise<Decision>;
  reset(key: LocalKey): Promise<Decision>;
  decide(key: LocalKey, options?: LimitOptions): Decision;
  /** limit, without a promise. */
  limitSync(key: LocalKey, options?: LimitOptions): Decision;
  /** Whether limitSync(key, { cost }) would succeed; takes the cost just the same, and allocates nothing. */
  allow(key: LocalKey, cost?: number): boolean;
  /**
   * limitSync for each key in order, all at one time, and faster than one by one. A cost per
   * key; 1 each unless given. @throws {RangeError} before anything is taken
   */
  limitMany(keys: readonly LocalKey[], costs?: readonly number[]): Decision[];
  /**
   * allow for each key in order, as limitMany: 1 where admitted, else 0, in `into` or a new array.
   * @throws {RangeError} before anything is taken
   */
  allowMany(keys: readonly LocalKey[], costs?: readonly number[], into?: Uint8Array): Uint8Array;
  stats(): LocalStats;
}

/** The surroundings that bounds are asked for. */
export interface BoundsOptions {
  /** Points of presence, a positive integer; 1 unless given. */
  pops?: number;
  /** Round trip to the ledger; 0 unless given. */
  rtt?: number | string;
}

/** What a design gives up. Tokens unless said otherwise; Infinity where there is no bound. */
export interface Bounds {
  /** Most that is admitted above the policy's envelope, with nothing crashing. */
  overshoot: number;
  /** Most of the budget that PoPs can hold while others want it. */
  stranded: number;
  /** Oldest knowledge that a decision can be based on, ms. */
  stalenessMs: number;
  /** Round trips to a ledger, at most, per admitted call. */
  roundTripsPerAdmit: number;
  /** Commits, at most, per admitted call. */
  writesPerAdmit: number;
  /** What one crash of a ledger adds: admitted above the envelope, or charged and not used. */
  crash: { overshoot: number; lost: number };
}
