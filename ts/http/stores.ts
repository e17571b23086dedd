// Counts for those who already have a limiter: the Store of express-rate-limit 8 and of
// hono-rate-limiter, which are the same, over ledgers.
import type { Decision } from "../contract.ts";
import { LimiterError, requireKnown } from "../errors.ts";
import { createLimiter, fixedWindow, type LimiterOptions } from "../index.ts";

/** Hits that a window can count. The package that asks has the limit; here is only the count. */
const HITS_MAX = 2 ** 40;

export interface Hits {
  totalHits: number;
  /** When the window ends. */
  resetTime: Date;
}

/** What both packages call a Store. */
export interface LimiterStore {
  init(options: { windowMs: number }): void;
  get(key: string): Promise<Hits | undefined>;
  increment(key: string): Promise<Hits>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
  shutdown(): Promise<void>;
  /** Whether the counts are this process's alone. */
  readonly localKeys: boolean;
  readonly prefix: string;
}

/** createLimiter's options; the window comes from the package. */
export type LimiterStoreOptions = Omit<LimiterOptions, "policy">;

const PASSED_ON = ["name", "design", "link", "onUnreachable", "deadline", "carry", "onError", "clock"];

/**
 * A store that counts at ledgers, or in this process without a design:
 * `rateLimit({ windowMs, limit, store: limiterStore({ design: exact(), link, onUnreachable: "allow" }) })`.
 *
 * All hits of a window are counted exactly, the refused ones too, over any number of processes
 * with the same name and ledgers. Windows are aligned to the Unix epoch, so that all processes
 * have the same; a client's first one is shorter than windowMs. Without a ledger to ask, a hit
 * counts as the window's first ("allow") or as one too many ("deny").
 *
 * @throws {RangeError} an option is unknown; those of createLimiter when the package calls init
 */
export function limiterStore(options: LimiterStoreOptions = {}): LimiterStore {
  requireKnown("limiterStore", options, PASSED_ON);
  const { design, name = "default" } = options;
  let made: ReturnType<typeof createLimiter> | undefined;
  const limiter = () => {
    if (!made) throw new LimiterError("unsupported", "limiterStore was asked before its package called init");
    return made;
  };
  return {
    localKeys: (design?.kind ?? "local") === "local",
    prefix: name,
    init({ windowMs }) {
      made = createLimiter({ ...options, policy: fixedWindow({ limit: HITS_MAX, window: windowMs }) });
    },
    async get(key) {
      const hits = hitsOf(await limiter().peek([key]));
      return hits.totalHits === 0 ? undefined : hits;
    },
    increment: async (key) => hitsOf(await limiter().limit([key])),
    decrement: async (key) => void (await limiter().refund([key], 1)),
    resetKey: async (key) => void (await limiter().reset([key])),
    shutdown: async () => made?.close(),
  };
}

function hitsOf(decision: Decision): Hits {
  const { limit, remaining, reset, source, success } = decision;
  const known = source !== "fallback";
  return { totalHits: known ? limit - remaining : success ? 1 : limit, resetTime: new Date(reset) };
}
