import fc from "fast-check";
import { expect, test } from "vitest";
import type { KeyState, Outcome, Policy } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { kindOf } from "../../ts/core/kinds.ts";
import { Meter } from "../../ts/core/meter.ts";
import { anyPolicy, type Call, Traffic } from "../support/traffic.ts";
import { twin } from "../support/twin.ts";

/** Whoever keeps a bucket's state moves its epoch before a now reaches so many ticks. */
const HORIZON_TICKS = 2 ** 51;

/** One key in JavaScript, kept in place: a bucket's epoch moves only when it must. */
class InPlace {
  epochsMoved = 0;
  readonly #policy: Policy;
  readonly #constants: Float64Array;
  readonly #state: Float64Array;
  readonly #out = new Float64Array(4);
  readonly #isBucket: boolean;
  #epoch = 0;
  #last = 0;

  constructor(policy: Policy) {
    this.#policy = policy;
    this.#constants = Float64Array.from(policy.constants);
    this.#state = new Float64Array(policy.stateCells);
    this.#isBucket = policy.kind === "tokenBucket";
  }

  apply({ now, kind, amount }: Call): Outcome {
    if (this.#isBucket) this.#moveEpoch(now);
    this.#last = now;
    const of = kindOf(this.#policy);
    const time = now - this.#epoch;
    if (kind === "refund") twin.refund(of, this.#constants, this.#state, time, amount);
    twin.decide(of, this.#constants, this.#state, this.#out, time, kind === "refund" ? 1 : amount, kind === "take");
    const [admitted, remaining, retryAfterMs, resetMs] = this.#out as unknown as [number, number, number, number];
    return { admitted: admitted === 1, remaining, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs, resetMs };
  }

  #moveEpoch(now: number): void {
    const ticksPerMs = this.#constants[0] as number;
    const isSetBack = now < this.#last;
    if (!isSetBack && (now - this.#epoch) * ticksPerMs < HORIZON_TICKS) return;
    // After a set-back the level goes on from where it was at the latest time.
    const epoch = isSetBack ? this.#last : now;
    this.#state[0] = Math.max((this.#state[0] as number) - (epoch - this.#epoch) * ticksPerMs, 0);
    this.#epoch = now;
    this.epochsMoved++;
  }
}

const core = instantiate();

/** The same key in WASM, in the meter that ledgers work with: loaded and saved as they do. */
class Stored {
  // Two of them share the core's memory, which grows under the one as the other needs room.
  readonly #meter = new Meter(core);
  readonly #policy: Policy;
  #state: KeyState | null = null;
  #loadedAt = Number.NaN;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /** @param keep  whether the state stays loaded for as long as the time is the same */
  apply({ now, kind, amount }: Call, keep: boolean): Outcome {
    const meter = this.#meter;
    if (!keep || now !== this.#loadedAt) meter.load(this.#policy, this.#state, now);
    this.#loadedAt = now;
    if (kind === "refund") meter.refund(amount);
    const admitted = meter.decide(kind === "refund" ? 1 : amount, kind === "take");
    this.#state = JSON.parse(JSON.stringify(meter.save())) as KeyState;
    const { remaining, retryAfterMs, resetMs } = meter;
    return { admitted, remaining, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs, resetMs };
  }
}

const same = (a: Outcome, b: Outcome) =>
  a.admitted === b.admitted &&
  a.remaining === b.remaining &&
  a.retryAfterMs === b.retryAfterMs &&
  a.resetMs === b.resetMs;

test("WASM and JavaScript agree on a million decisions, however the state is kept", () => {
  const CALLS = 2000;
  const seen = { calls: 0, admitted: 0, denied: 0, never: 0, setBack: 0, epochsMoved: 0 };
  fc.assert(
    fc.property(anyPolicy, fc.integer(), fc.boolean(), (policy, seed, keep) => {
      const traffic = new Traffic(policy, seed, true);
      const [inPlace, stored] = [new InPlace(policy), new Stored(policy)];
      let last = 0;
      for (let nth = 0; nth < CALLS; nth++) {
        const call = traffic.next();
        const outcome = inPlace.apply(call);
        const other = stored.apply(call, keep);
        if (!same(outcome, other)) expect({ nth, call, outcome: other }).toEqual({ nth, call, outcome });
        traffic.tell(outcome);
        seen.calls++;
        seen[outcome.admitted ? "admitted" : outcome.retryAfterMs === null ? "never" : "denied"]++;
        if (call.now < last) seen.setBack++;
        last = call.now;
      }
      seen.epochsMoved += inPlace.epochsMoved;
    }),
    { numRuns: 550, endOnFailure: true },
  );
  expect(seen.calls).toBeGreaterThanOrEqual(1_000_000);
  for (const [what, share] of Object.entries({ admitted: 0.2, denied: 0.1, never: 0.01, setBack: 0.01 })) {
    expect(seen[what as keyof typeof seen], what).toBeGreaterThan(share * seen.calls);
  }
  expect(seen.epochsMoved).toBeGreaterThan(1000);
});
