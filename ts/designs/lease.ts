import type { Bounds, Op, Policy } from "../contract.ts";
import { requireInteger, requireKnown } from "../errors.ts";
import { TTL_MS_MAX } from "../ledger/leases.ts";
import type { LeaseReply, LeaseRequest } from "../ledger/messages.ts";
import { addressesOf } from "../link/address.ts";
import { LEASE_ONLY } from "../link/lane.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import { AtLedger } from "./at-ledger.ts";
import { type Answer, type Design, type Holder, type HolderContext, remoteOf } from "./design.ts";
import { Hold, type Terms } from "./lease-hold.ts";

export interface LeaseOptions {
  /** Tokens per lease, a positive integer up to the policy's capacity; or "adaptive", unless given. */
  block?: number | "adaptive";
  /**
   * How long a lease lasts, 500 ms to 5 min. Unless given: "5s", or a tenth of a sliding window
   * if that is shorter, since what a holder spends counts from when it tells the ledger.
   */
  ttl?: Duration;
}

/** Keys that are leased at most; calls on others are decided at the ledger. */
const HOLDS_MAX = 100_000;
const DENIALS_MAX = 10_000;
const TTL_MS_MIN = 500;
const TTL_MS_DEFAULT = 5000;

/**
 * Grants each PoP a block of tokens, and lets it spend them alone.
 *
 * Safety: none above the limit, whatever is cut off (`test/sim/lease.test.ts`).
 * Loss: tokens that others hold can't be had, until they are returned or their leases end.
 * Cost: one round trip per block, none on the way of a call while the block lasts.
 *
 * @throws {RangeError} an option is unknown or out of range
 */
export function lease(options: LeaseOptions = {}): Design {
  requireKnown("lease", options, ["block", "ttl"]);
  const { block = "adaptive", ttl } = options;
  const tokens = block === "adaptive" ? undefined : requireInteger("block", block, 1, Number.MAX_SAFE_INTEGER);
  const ttlMs = ttl === undefined ? undefined : requireInteger("ttl", toMs("ttl", ttl), TTL_MS_MIN, TTL_MS_MAX);
  return {
    kind: "lease",
    needsLink: true,
    hold(context) {
      const { policies } = context;
      if (tokens !== undefined) requireInteger("block", tokens, 1, Math.min(...policies.map((one) => one.capacity)));
      return new LeaseHolder(context, { ttlMs: ttlMs ?? defaultTtlMs(policies), block: tokens });
    },
  };
}

function defaultTtlMs(policies: readonly Policy[]): number {
  const tenths = policies.map(({ spec }) => (spec.kind === "slidingWindow" ? spec.window / 10 : TTL_MS_DEFAULT));
  return Math.max(Math.floor(Math.min(TTL_MS_DEFAULT, ...tenths)), TTL_MS_MIN);
}

class LeaseHolder implements Holder {
  readonly #addressOf: (key: string) => string;
  readonly #policies: readonly Policy[];
  readonly #ambient: HolderContext["ambient"];
  readonly #terms: Terms;
  readonly #ledger: AtLedger;
  readonly #holds = new Map<string, Hold>();
  /** Tokens of leases spent so far, on all keys. */
  #leased = 0;
  #closing = false;
  #cancelRound = () => {};
  /** When the next round must have been. */
  #roundBy = 0;

  constructor(context: HolderContext, terms: Terms) {
    const { name, policies, ambient } = context;
    this.#addressOf = addressesOf(name);
    this.#policies = policies;
    this.#ambient = ambient;
    this.#terms = terms;
    this.#ledger = new AtLedger(context, remoteOf(context, "lease"), DENIALS_MAX, {
      request: (address) => this.#request(address),
      arrived: (address, request, reply, sentAt) => this.#arrived(address, request, reply, sentAt),
    });
  }

  atHand(key: string, op: Op): Answer | null {
    if (op[0] !== "take") return null;
    const address = this.#addressOf(key);
    const cost = op[1];
    const now = this.#ambient.monotonic();
    // In Workers a timer dies with the request that it was set for: calls make up for it.
    if (now > this.#roundBy) this.#round(now);
    const hold = this.#hold(address);
    hold?.demand(cost, now);
    if (hold && hold.left(now) >= cost) {
      hold.spend(cost);
      this.#leased += cost;
      if (hold.isLow(now)) this.#fetch(address, hold);
      const resetMs = Math.max(Math.ceil(hold.wholeAt - now), 0);
      return { admitted: true, remaining: hold.tokens, retryAfterMs: 0, resetMs, source: "lease" };
    }
    if (hold && hold.later > 0 && cost <= hold.later) return soon(hold, now);
    return this.#ledger.refusal(address, cost);
  }

  async ask(key: string, op: Op): Promise<Answer> {
    const address = this.#addressOf(key);
    const answer = await this.#ledger.ask(address, op);
    const hold = this.#holds.get(address);
    if (op[0] === "reset" || answer.admitted || !hold || hold.later < op[1]) return answer;
    const { retryAfterMs } = soon(hold, this.#ambient.monotonic());
    return { ...answer, retryAfterMs: Math.min(answer.retryAfterMs ?? Number.POSITIVE_INFINITY, retryAfterMs) };
  }

  bounds({ pops }: { pops: number }): Bounds {
    const capacity = Math.min(...this.#policies.map((policy) => policy.capacity));
    const { ttlMs, block = capacity } = this.#terms;
    return {
      overshoot: 0,
      stranded: Math.min((pops - 1) * block, Math.floor(capacity / 2)),
      stalenessMs: ttlMs,
      // Where a block is a single token: one trip to get it, one to return another.
      roundTripsPerAdmit: 2,
      writesPerAdmit: 2 * this.#ledger.commits,
      crash: this.#ledger.crash,
    };
  }

  stats(): Record<string, number> {
    const now = this.#ambient.monotonic();
    let held = 0;
    for (const hold of this.#holds.values()) held += hold.left(now);
    return { ...this.#ledger.stats, leased: this.#leased, held };
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelRound();
    const now = this.#ambient.monotonic();
    const held = [...this.#holds].filter(([, hold]) => now < hold.end && hold.tokens + hold.later > 0);
    await Promise.all(held.map(([address]) => this.#ledger.courier.send(address, LEASE_ONLY, 0)));
    this.#ledger.close();
    this.#holds.clear();
  }

  #hold(address: string): Hold | undefined {
    let hold = this.#holds.get(address);
    if (!hold && this.#holds.size < HOLDS_MAX) {
      hold = new Hold(this.#terms, this.#leased);
      this.#holds.set(address, hold);
    }
    return hold;
  }

  #fetch(address: string, hold: Hold): void {
    hold.fetching = true;
    const done = () => {
      hold.fetching = false;
    };
    const sent = this.#ledger.courier.send(address, LEASE_ONLY, 0);
    if (sent) sent.then(done, done);
    else done();
  }

  /** Renews or returns what is about to end, and forgets what nobody asks for. */
  #round(now: number): void {
    for (const [address, hold] of this.#holds) {
      if (hold.isDue(now)) this.#fetch(address, hold);
      else if (hold.isIdle(now)) this.#holds.delete(address);
    }
    const pauseMs = this.#terms.ttlMs / 8;
    this.#roundBy = now + 2 * pauseMs;
    this.#cancelRound();
    this.#cancelRound = this.#ambient.schedule(pauseMs, () => {
      if (this.#holds.size > 0) this.#round(this.#ambient.monotonic());
    });
  }

  #request(address: string): LeaseRequest | undefined {
    return this.#holds.get(address)?.request(this.#ambient.monotonic(), this.#closing);
  }

  #arrived(address: string, request: LeaseRequest, reply: LeaseReply, sentAt: number): void {
    this.#holds.get(address)?.arrived(request, reply, sentAt, this.#ambient.monotonic());
  }
}

/** The answer to a call that tokens will be there for. */
function soon(hold: Hold, now: number): Answer & { retryAfterMs: number } {
  const retryAfterMs = Math.max(Math.ceil(hold.laterAt - now), 1);
  const resetMs = Math.max(Math.ceil(hold.wholeAt - now), retryAfterMs);
  return { admitted: false, remaining: 0, retryAfterMs, resetMs, source: "cache" };
}
