import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KeyState, Outcome, Policy } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { Meter } from "../../ts/core/meter.ts";
import { tokenBucket } from "../../ts/policies/token-bucket.ts";
import { rationalKey } from "../support/rational.ts";
import { anyBucket, anyFixed, anyPolicy, anySliding, type Call, Traffic } from "../support/traffic.ts";

const meter = new Meter(instantiate());
const CALLS = 200;

/** One key, its state stored between calls. */
class Key {
  state: KeyState | null = null;
  readonly #policy: Policy;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  apply({ now, kind, amount }: Call): Outcome {
    meter.load(this.#policy, this.state, now);
    if (kind === "refund") meter.refund(amount);
    const admitted = meter.decide(kind === "refund" ? 1 : amount, kind === "take");
    this.state = meter.save();
    const { remaining, retryAfterMs, resetMs } = meter;
    return { admitted, remaining, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs, resetMs };
  }

  /** Whether `cost` would be admitted at `now`, with no calls in between. */
  wouldAdmit(now: number, cost: number): boolean {
    meter.load(this.#policy, this.state, now);
    return meter.decide(cost, false);
  }
}

/** Sends random calls to one key, and hands each with its outcome to `check`. */
function drive(
  policy: Policy,
  seed: number,
  setsBack: boolean,
  check: (call: Call, outcome: Outcome, key: Key) => void,
) {
  const traffic = new Traffic(policy, seed, setsBack);
  const key = new Key(policy);
  for (let nth = 0; nth < CALLS; nth++) {
    const call = traffic.next();
    const outcome = key.apply(call);
    check(call, outcome, key);
    traffic.tell(outcome);
  }
}

/** The takes that were admitted, in order of time; without refunds, which give room for more. */
function admissions(policy: Policy, seed: number): { now: number; amount: number }[] {
  const admitted: { now: number; amount: number }[] = [];
  const traffic = new Traffic(policy, seed, false);
  const key = new Key(policy);
  for (let nth = 0; nth < CALLS; nth++) {
    const call = traffic.next();
    if (call.kind === "refund") continue;
    const outcome = key.apply(call);
    traffic.tell(outcome);
    if (call.kind === "take" && outcome.admitted) admitted.push(call);
  }
  return admitted;
}

const exactly = anyPolicy.filter((policy) => policy.exact || policy.kind === "slidingWindow");
const rounded = fc
  .record({
    // Prime, and so never reduced: always beyond what is exact.
    rate: fc.constantFrom(2_097_169, 15_485_863, 2_147_483_647, 6_700_417_000_003),
    per: fc.integer({ min: 1, max: 10 ** 7 }),
    burst: fc.integer({ min: 1, max: 10 ** 6 }),
  })
  .filter(({ rate, per, burst }) => rate / per < 2 ** 21 && burst * 2 * per < 2 ** 51)
  .map((options) => tokenBucket(options))
  .filter((policy) => !policy.exact);

describe("against exact fractions", () => {
  test("every decision is the right one: refunds, set-back clocks and costs out of reach too", () => {
    fc.assert(
      fc.property(exactly, fc.integer(), (policy, seed) => {
        const model = rationalKey(policy.spec);
        drive(policy, seed, true, (call, outcome) => {
          const { now, kind, amount } = call;
          if (kind === "refund") model.refund(now, amount);
          const expected = model.decide(now, kind === "refund" ? 1 : amount, kind === "take");
          expect({ ...call, ...outcome }).toEqual({ ...call, ...expected });
        });
      }),
      { numRuns: 300 },
    );
  });

  test("a rate that was rounded admits nothing that the true one would not", () => {
    fc.assert(
      fc.property(rounded, fc.integer(), (policy, seed) => {
        const truth = rationalKey(policy.spec);
        drive(policy, seed, true, ({ now, kind, amount }, outcome) => {
          if (kind === "refund") truth.refund(now, amount);
          const expected = truth.decide(now, amount, kind === "take" && outcome.admitted);
          if (kind !== "refund" && outcome.admitted) expect(expected.admitted).toBe(true);
          expect(outcome.remaining).toBeLessThanOrEqual(truth.decide(now, 1, false).remaining);
        });
      }),
      { numRuns: 300 },
    );
  });
});

describe("the envelope", () => {
  test("a bucket admits at most burst + rate × time in every interval", () => {
    fc.assert(
      fc.property(fc.oneof(anyBucket, rounded), fc.integer(), (policy, seed) => {
        const { rate, per, burst } = policy.spec as { rate: number; per: number; burst: number };
        const list = admissions(policy, seed);
        for (const [first, { now: from }] of list.entries()) {
          let sum = 0n;
          for (const { now, amount } of list.slice(first)) {
            sum += BigInt(amount);
            const most = BigInt(burst) * BigInt(per) + BigInt(rate) * BigInt(now - from);
            if (sum * BigInt(per) > most) expect.fail(`${sum} from ${from} to ${now}`);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test("a sliding window admits at most the limit in every (t - window, t], and holds back one step at most", () => {
    fc.assert(
      fc.property(anySliding, fc.integer(), (policy, seed) => {
        const { limit, window, resolution } = policy.spec as { limit: number; window: number; resolution: number };
        const list = admissions(policy, seed);
        const key = new Key(policy);
        const sumSince = (after: number, upTo: number) =>
          list.slice(0, upTo + 1).reduce((sum, { now, amount }) => (now > after ? sum + BigInt(amount) : sum), 0n);
        for (const [nth, { now, amount }] of list.entries()) {
          expect(sumSince(now - window, nth)).toBeLessThanOrEqual(BigInt(limit));
          const { remaining } = key.apply({ now, kind: "take", amount });
          const held = BigInt(limit) - BigInt(remaining);
          expect(held).toBeGreaterThanOrEqual(sumSince(now - window, nth));
          expect(held).toBeLessThanOrEqual(sumSince(now - window - resolution, nth));
        }
      }),
      { numRuns: 200 },
    );
  });

  test("a fixed window admits at most the limit in each", () => {
    fc.assert(
      fc.property(anyFixed, fc.integer(), (policy, seed) => {
        const { limit, window } = policy.spec as { limit: number; window: number };
        const used = new Map<number, bigint>();
        for (const { now, amount } of admissions(policy, seed)) {
          const nth = Math.floor(now / window);
          used.set(nth, (used.get(nth) ?? 0n) + BigInt(amount));
        }
        for (const sum of used.values()) expect(sum).toBeLessThanOrEqual(BigInt(limit));
      }),
      { numRuns: 200 },
    );
  });
});

test("retryAfterMs is the least wait: the call succeeds then, and not a ms before", () => {
  let denials = 0;
  fc.assert(
    fc.property(fc.oneof(anyPolicy, rounded), fc.integer(), (policy, seed) => {
      drive(policy, seed, true, ({ now, kind, amount }, { admitted, retryAfterMs }, key) => {
        if (kind === "refund" || admitted) return;
        if (retryAfterMs === null) {
          expect(amount).toBeGreaterThan(policy.capacity);
          return;
        }
        denials++;
        expect(retryAfterMs).toBeGreaterThanOrEqual(1);
        expect(key.wouldAdmit(now + retryAfterMs, amount)).toBe(true);
        expect(key.wouldAdmit(now + retryAfterMs - 1, amount)).toBe(false);
      });
    }),
    { numRuns: 300 },
  );
  expect(denials).toBeGreaterThan(5000);
});

test("a bucket whose stored time lies ahead, as when the clock was set back, waits no longer than a whole refill", () => {
  const ahead = fc.integer({ min: 0, max: 2 ** 52 });
  fc.assert(
    fc.property(anyBucket, ahead, fc.boolean(), (policy, tat, refunds) => {
      const [ticksPerMs, , full] = policy.constants as [number, number, number];
      meter.load(policy, { at: 5, cells: [tat] }, 5);
      if (refunds) meter.refund(1);
      meter.decide(policy.capacity, false);
      expect(meter.remaining).toBeGreaterThanOrEqual(refunds ? 1 : 0);
      expect(meter.resetMs).toBeLessThanOrEqual(Math.ceil(full / ticksPerMs));
      expect(meter.retryAfterMs).toBe(meter.resetMs);
    }),
    { numRuns: 2000 },
  );
});
