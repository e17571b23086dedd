import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { guarded } from "../../ts/ledger/guard.ts";
import { type LeaseRequest, RESET, TAKE } from "../../ts/ledger/messages.ts";
import { DAY, Ledger, START } from "../support/key-ledger.ts";

const bucket: PolicySpec = { kind: "tokenBucket", rate: 1, per: DAY, burst: 100 };

describe("a lease", () => {
  test("is kept apart from what else is admitted, to the last token", () => {
    const ledger = new Ledger(bucket);
    expect(ledger.ask("a", { ask: 10 }).lease.tokens).toBe(10);
    expect(ledger.free).toBe(90);
    expect(ledger.ask("b", undefined, [TAKE, 91]).reply.outcomes[0]).toBe(0);
    expect(ledger.ask("b", undefined, [TAKE, 90]).reply.outcomes[0]).toBe(1);
    expect(ledger.free).toBe(0);
  });

  test("stays reserved when the key is reset", () => {
    const ledger = new Ledger(bucket);
    ledger.ask("a", { ask: 10 });
    ledger.ask("b", undefined, [TAKE, 50, RESET, 1]);
    expect(ledger.free).toBe(90);
  });

  test("is settled by totals: what is neither used nor kept comes back", () => {
    const ledger = new Ledger(bucket);
    ledger.ask("a", { ask: 10 });
    expect(ledger.ask("a", { used: 4, held: 5 }).lease.tokens).toBe(5);
    expect([ledger.free, ledger.leased]).toEqual([91, 5]);
    // A grant whose answer was lost is returned by the next request, and nothing is booked twice.
    ledger.ask("a", { used: 4, held: 5, ask: 20 });
    expect(ledger.ask("a", { used: 6, held: 3 }).lease.tokens).toBe(3);
    expect([ledger.free, ledger.leased]).toEqual([91, 3]);
    ledger.ask("a", { used: 9, held: 0 });
    expect([ledger.free, ledger.leased]).toEqual([91, 0]);
    expect(ledger.state?.leases).toBeUndefined();
  });

  test("counts as used when it ends unreported, and a late report changes nothing", () => {
    const ledger = new Ledger(bucket);
    ledger.ask("a", { ask: 10 });
    ledger.now += guarded(1000) - 1;
    expect(ledger.leased).toBe(10);
    ledger.now += 1;
    expect(ledger.free).toBe(90);
    expect(ledger.ask("a", { used: 3, held: 7 }).lease.tokens).toBe(0);
    expect([ledger.free, ledger.leased]).toEqual([90, 0]);
  });

  test("ends with the fixed window, before the holder's clock can be past it", () => {
    const ledger = new Ledger({ kind: "fixedWindow", limit: 100, window: 1000 });
    ledger.now = START + 700;
    const { ttlMs, tokens } = ledger.ask("a", { ask: 10, ttlMs: 5000 }).lease;
    expect(tokens).toBe(10);
    expect(ledger.now + guarded(ttlMs)).toBeLessThan(START + 1000);
    ledger.now = START + 960;
    expect(ledger.ask("b", { ask: 10, ttlMs: 5000 }).lease.tokens).toBe(0);
    ledger.now = START + 1000;
    expect([ledger.free, ledger.leased]).toEqual([100, 0]);
  });

  test("starts later where the rate has yet to bring its tokens", () => {
    const ledger = new Ledger({ kind: "tokenBucket", rate: 10, per: 1000, burst: 20 });
    ledger.ask("b", undefined, [TAKE, 20]);
    const { lease } = ledger.ask("a", { ask: 10, ttlMs: 2000 });
    expect(lease).toMatchObject({ tokens: 0, later: 10, startsInMs: guarded(1000) });
    ledger.now += 999;
    expect(ledger.ask("b", undefined, [TAKE, 1]).reply.outcomes[0]).toBe(0);
    ledger.now += 101;
    expect(ledger.ask("b", undefined, [TAKE, 1]).reply.outcomes[0]).toBe(1);
  });

  test("that a clock set back would keep for years ends within the longest ttl", () => {
    const ledger = new Ledger(bucket);
    ledger.ask("a", { ask: 10 });
    ledger.now -= 365 * DAY;
    ledger.ask("b", undefined, [TAKE, 1]);
    ledger.now += guarded(300_000);
    ledger.ask("b", undefined, [TAKE, 1]);
    expect(ledger.leased).toBe(0);
  });

  test("makes no sense with anything but whole numbers", () => {
    const ledger = new Ledger(bucket);
    for (const sync of [{ ask: -1 }, { ask: 1.5 }, { used: Number.NaN }, { ttlMs: 0 }, { ttlMs: 1e9 }, { block: 0 }]) {
      expect(() => ledger.ask("a", sync)).toThrow(/sync must hold whole numbers/);
    }
  });
});

const policies: fc.Arbitrary<PolicySpec> = fc.oneof(
  fc.record({
    kind: fc.constant("tokenBucket" as const),
    rate: fc.integer({ min: 1, max: 50 }),
    per: fc.constant(1000),
    burst: fc.integer({ min: 1, max: 60 }),
  }),
  fc.record({
    kind: fc.constant("fixedWindow" as const),
    limit: fc.integer({ min: 1, max: 60 }),
    window: fc.constant(2000),
  }),
  fc.record({
    kind: fc.constant("slidingWindow" as const),
    limit: fc.integer({ min: 1, max: 60 }),
    window: fc.constant(2000),
    resolution: fc.constantFrom(1, 100),
  }),
);
const message = fc.record({
  holder: fc.constantFrom("a", "b", "c"),
  spend: fc.integer({ min: 0, max: 10 }),
  keep: fc.integer({ min: 0, max: 10 }),
  ask: fc.integer({ min: 0, max: 40 }),
  take: fc.integer({ min: 0, max: 8 }),
  block: fc.constantFrom(undefined, undefined, 3, 15),
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 3000 })),
});

test("whatever holders say: leases fit in what is there, in half of it, and a retry changes nothing", () => {
  fc.assert(
    fc.property(fc.array(policies, { minLength: 1, maxLength: 2 }), fc.array(message), (specs, messages) => {
      const ledger = new Ledger(...specs);
      const used = { a: 0, b: 0, c: 0 };
      const capacity = Math.min(...specs.map((spec) => (spec.kind === "tokenBucket" ? spec.burst : spec.limit)));
      for (const { holder, spend, keep, ask, take, block, afterMs } of messages) {
        ledger.now += afterMs;
        used[holder as "a"] += spend;
        const sync: Partial<LeaseRequest> = { used: used[holder as "a"], held: keep, ask, ttlMs: 700 };
        if (block !== undefined) sync.block = block;
        const ops = take > 0 ? [TAKE, take] : [];
        const before = ledger.leased;
        const { seq, reply, lease } = ledger.ask(holder, sync, ops);
        const text = JSON.stringify(ledger.state);
        expect(ledger.ask(holder, sync, ops, seq)).toMatchObject({ reply, replayed: true, changed: false });
        expect(JSON.stringify(ledger.state)).toBe(text);
        expect(ledger.leased).toBeLessThanOrEqual(Math.max(Math.floor(capacity / 2), before));
        const own = ledger.state?.leases?.find((other) => other.holder === holder);
        expect(lease.tokens + lease.later).toBeLessThanOrEqual(own?.tokens ?? 0);
        expect(ledger.free).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 500 },
  );
});
