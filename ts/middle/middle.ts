// A ledger that is itself a holder of others. It grants its holders what it has leased at home, in
// the same words, so that they need not go home for it: the ledger of a region between isolates
// and home, or one of many shards of a hot key.
//
// Nothing is stored. When it starts again it is a new holder: what the old one held ends at home
// in its time, and what that had leased on ends before.
import { LimiterError } from "../errors.ts";
import type { LedgerReply, LedgerRequest } from "../ledger/messages.ts";
import { type MiddleOptions, Tier } from "./tier.ts";

export type { MiddleOptions } from "./tier.ts";

/** Policies that are asked for at the same time, at most: those of all limiters that share the middle. */
const TIERS_MAX = 1000;

/**
 * Safety: none above the limit, whatever is lost, late, cut or killed at either edge
 * (`test/sim/middle.test.ts`). Loss: what it holds can't be had elsewhere until it is used,
 * returned, or its lease ends. Cost: a round trip home for many to here.
 */
export class Middle {
  readonly #options: MiddleOptions;
  readonly #tiers = new Map<string, Tier>();
  #closed = false;

  constructor(options: MiddleOptions) {
    this.#options = options;
  }

  /**
   * Decides a request, out of what is held or by asking home.
   * @throws {RangeError} the request makes no sense
   * @throws {LimiterError} "storage": home is out of reach, and a retry goes on where this one ended
   */
  async ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    if (this.#closed) throw new LimiterError("closed", "the middle ledger is closed");
    if (request.v !== 1) throw new LimiterError("protocol", `request has version ${request.v}; this ledger speaks 1`);
    check(request);
    return this.#tier(request).ask(address, request);
  }

  /** Requests that went home. */
  get requests(): number {
    let sum = 0;
    for (const tier of this.#tiers.values()) sum += tier.requests;
    return sum;
  }

  /** Gives back what isn't leased on. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#tiers.values()].map((tier) => tier.close()));
  }

  #tier(request: LedgerRequest): Tier {
    const { policies, carry, durability } = request;
    const name = JSON.stringify([policies, carry, durability]);
    let tier = this.#tiers.get(name);
    if (!tier) {
      if (this.#tiers.size >= TIERS_MAX) this.#forgetIdle();
      tier = new Tier(this.#options, request);
      this.#tiers.set(name, tier);
    }
    return tier;
  }

  #forgetIdle(): void {
    for (const [name, tier] of this.#tiers) if (tier.isIdle) this.#tiers.delete(name);
    if (this.#tiers.size >= TIERS_MAX) {
      throw new RangeError(`a middle ledger serves at most ${TIERS_MAX} different policies at a time`);
    }
  }
}

function check({ policies, ops }: LedgerRequest): void {
  if (policies.length === 0) throw new RangeError("a request must name at least one policy");
  for (const [at, value] of ops.entries()) {
    if (at % 2 === 0 && ![0, 1, 2, 3].includes(value)) throw new RangeError(`op kind must be 0..3; got ${value}`);
    if (at % 2 === 1 && (!Number.isSafeInteger(value) || value < 1)) {
      throw new RangeError(`op amount must be a positive integer; got ${value}`);
    }
  }
}
