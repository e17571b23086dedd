import type { KeyState, Policy } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";
import { badOption } from "../errors.ts";
import { guarded } from "../ledger/guard.ts";
import { metersOf } from "../ledger/meters.ts";
import { shareOf } from "../ledger/rights.ts";
import type { Meters } from "../ledger/run.ts";
import { slidingWindow } from "../policies/sliding-window.ts";
import { tokenBucket } from "../policies/token-bucket.ts";

/** What one holder has taken from its share of one key since it was cut off. */
export interface Share {
  /** Since when the ledger reserves it, monotonic ms. */
  since: number;
  keys: readonly (KeyState | null)[];
}

/**
 * What a holder may take alone: its part of the rate, a limit of its own in the same arithmetic.
 *
 * It never runs ahead of what the ledger reserves: it is slower by what clocks may differ, a
 * bucket begins empty, and a window only when all that came before has left it.
 */
export class Shares {
  readonly #policies: readonly Policy[];
  readonly #waitMs: readonly number[];
  readonly #meters: Meters;

  /** @throws {RangeError} a share is less than one token */
  constructor(policies: readonly Policy[], pops: number, instantiate: () => CoreExports) {
    this.#policies = policies.map((policy) => shared(policy, pops));
    this.#waitMs = policies.map(({ spec }) => (spec.kind === "tokenBucket" ? 0 : guarded(spec.window)));
    this.#meters = metersOf(instantiate);
  }

  begin(since: number): Share {
    const keys = this.#policies.map((policy, index) => {
      if (policy.kind !== "tokenBucket") return null;
      const meter = this.#meters(index);
      meter.load(policy, null, since);
      meter.decide(policy.capacity, true);
      return meter.save();
    });
    return { since, keys };
  }

  /** Whether the share has `cost` tokens under every policy; takes them. */
  take(share: Share, cost: number, nowMs: number): boolean {
    const now = Math.floor(nowMs);
    for (const [index, policy] of this.#policies.entries()) {
      if (now < share.since + (this.#waitMs[index] as number)) return false;
      this.#meters(index).load(policy, share.keys[index] ?? null, now);
      if (!this.#meters(index).decide(cost, false)) return false;
    }
    share.keys = this.#policies.map((_, index) => {
      this.#meters(index).decide(cost, true);
      return this.#meters(index).save();
    });
    return true;
  }
}

function shared(policy: Policy, pops: number): Policy {
  const { spec } = policy;
  const most = shareOf(policy, pops);
  if (most === 0) {
    const least = spec.kind === "fixedWindow" ? pops : 2 * pops;
    throw badOption("pops", pops, `so few that each has a share: onUnreachable "share" needs a capacity of ${least}`);
  }
  if (spec.kind === "tokenBucket") {
    return tokenBucket({ rate: spec.rate, per: guarded(spec.per * pops), burst: most });
  }
  return slidingWindow({ limit: most, window: guarded(spec.window) });
}
