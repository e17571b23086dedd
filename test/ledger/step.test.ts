import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Policy, PolicySpec } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { kindOf } from "../../ts/core/kinds.ts";
import { Meter } from "../../ts/core/meter.ts";
import { type Carry, type LedgerRequest, PEEK, REFUND, RESET, TAKE } from "../../ts/ledger/messages.ts";
import type { Meters } from "../../ts/ledger/run.ts";
import { type LedgerState, parseState } from "../../ts/ledger/state.ts";
import { POLICY_MS_MIN, step } from "../../ts/ledger/step.ts";
import { policyOf } from "../../ts/policies/spec.ts";
import { twin } from "../support/twin.ts";

const core = instantiate();
const meters: Meter[] = [];
const metersOf: Meters = (index) => {
  meters[index] ??= new Meter(core);
  return meters[index];
};

const span = fc.constantFrom(1, 7, 1000, 60_000, 86_400_000);
const policy: fc.Arbitrary<PolicySpec> = fc.oneof(
  fc.record({
    kind: fc.constant("tokenBucket" as const),
    rate: fc.integer({ min: 1, max: 50 }),
    per: span,
    burst: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({ kind: fc.constant("fixedWindow" as const), limit: fc.integer({ min: 1, max: 30 }), window: span }),
  fc.record({
    kind: fc.constant("slidingWindow" as const),
    limit: fc.integer({ min: 1, max: 30 }),
    window: span,
    resolution: fc.constant(1),
  }),
);
const policies = fc.array(policy, { minLength: 1, maxLength: 3 });
const call = fc.record({
  kind: fc.constantFrom(TAKE, TAKE, TAKE, PEEK, REFUND, RESET),
  amount: fc.integer({ min: 1, max: 12 }),
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 100_000 })),
});

function ask(state: LedgerState | null, specs: PolicySpec[], ops: number[], now: number, carry?: Carry) {
  const request: LedgerRequest = { v: 1, holder: "h", seq: 1, policies: specs, ops, ...(carry && { carry }) };
  return step(metersOf, state, undefined, request, now);
}

/** The same policies as JavaScript, one state each: joined here as the step should join them. */
class Joined {
  readonly #policies: { policy: Policy; kind: number; constants: Float64Array; state: Float64Array }[];
  readonly #out = new Float64Array(4);
  readonly #epoch: number;

  constructor(specs: PolicySpec[], epoch: number) {
    this.#epoch = epoch;
    this.#policies = specs.map((spec) => {
      const policy = policyOf(spec);
      const constants = Float64Array.from(policy.constants);
      return { policy, kind: kindOf(policy), constants, state: new Float64Array(policy.stateCells) };
    });
  }

  apply(kind: number, amount: number, now: number): number[] {
    if (kind === REFUND)
      for (const { kind, constants, state, time } of this.#at(now)) twin.refund(kind, constants, state, time, amount);
    if (kind === RESET) for (const { state } of this.#policies) state.fill(0);
    const cost = kind === TAKE || kind === PEEK ? amount : 1;
    const looks = this.#at(now).map((one) => this.#decide(one, cost, false));
    if (kind !== TAKE || !looks.every((look) => look[0] === 1)) return looks.flat();
    return this.#at(now).flatMap((one) => this.#decide(one, cost, true));
  }

  #at(now: number) {
    return this.#policies.map((one) => ({ ...one, time: one.policy.kind === "tokenBucket" ? now - this.#epoch : now }));
  }

  #decide(
    one: { kind: number; constants: Float64Array; state: Float64Array; time: number },
    cost: number,
    commit: boolean,
  ) {
    twin.decide(one.kind, one.constants, one.state, this.#out, one.time, cost, commit);
    return [...this.#out];
  }
}

describe("a ledger's step", () => {
  test("decides several policies all or nothing, through any storage, in one request or in many", () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(call, { maxLength: 60 }),
        fc.integer({ min: 0, max: 2e12 }),
        (specs, calls, start) => {
          const joined = new Joined(specs, start);
          let state: LedgerState | null = null;
          let now = start;
          let batch: number[] = [];
          let expected: number[] = [];
          for (const [nth, { kind, amount, afterMs }] of calls.entries()) {
            // What falls on one ms travels together.
            if (afterMs > 0 && batch.length > 0) {
              const result = ask(state, specs, batch, now);
              expect(result.reply.outcomes).toEqual(expected);
              state = result.state && parseState(JSON.stringify(result.state));
              [batch, expected] = [[], []];
            }
            now += afterMs;
            batch.push(kind, amount);
            expected.push(...joined.apply(kind, amount, now));
            if (nth === calls.length - 1) expect(ask(state, specs, batch, now).reply.outcomes).toEqual(expected);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("does not change the state that it is given, and says when it is unchanged", () => {
    fc.assert(
      fc.property(policies, fc.array(call, { minLength: 1, maxLength: 10 }), (specs, calls) => {
        const before = ask(null, specs, [TAKE, 1], 1000).state;
        const text = JSON.stringify(before);
        const ops = calls.flatMap(({ kind, amount }) => [kind, amount]);
        const result = ask(before, specs, ops, 1000 + (calls[0]?.afterMs ?? 0));
        expect(JSON.stringify(before)).toBe(text);
        if (!result.changed) expect(result.state).toBe(before);
        expect(result.changed || result.admitted === 0).toBe(true);
        if (calls.every(({ kind }) => kind === PEEK)) expect(result.changed).toBe(false);
      }),
    );
  });

  test("with its clock set back refuses for no longer than it says", () => {
    const back = fc.integer({ min: 0, max: 100_000_000 });
    fc.assert(
      fc.property(policies, back, fc.integer({ min: 1, max: 30 }), (specs, backMs, cost) => {
        const start = 1_700_000_000_000;
        const capacity = Math.min(...specs.map((spec) => policyOf(spec).capacity));
        let now = start;
        let { state } = ask(null, specs, [TAKE, capacity], now);
        now -= backMs;
        for (let tries = 0; ; tries++) {
          const { reply, state: next } = ask(state, specs, [TAKE, Math.min(cost, capacity)], now);
          state = next;
          const waits = reply.outcomes.filter((_, cell) => cell % 4 === 2);
          if (waits.every((wait) => wait === 0)) return;
          // One refusal that finds the clock set back, and no other.
          expect(tries).toBe(0);
          now += Math.max(...waits);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("reads its own state from JSON, and no later version's", () => {
    const { state } = ask(null, [{ kind: "fixedWindow", limit: 3, window: 10 }], [TAKE, 1], 5);
    expect(parseState(JSON.stringify(state))).toEqual(state);
    expect(() => parseState(JSON.stringify({ ...state, v: 2 }))).toThrow(
      /has version 2; this version of sluice reads 1/,
    );
    expect(() => parseState('{"v":1')).toThrow(/damaged/);
  });
});

describe("a policy that changes", () => {
  const used = (state: LedgerState | null, specs: PolicySpec[], now: number) =>
    ask(state, specs, [PEEK, 1], now).reply.outcomes.filter((_, cell) => cell % 4 === 1);

  test("keeps the share that is used, rounded up to less than a token: never a refill", () => {
    fc.assert(
      fc.property(
        policy,
        policy,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: 5000 }),
        (from, to, cost, later) => {
          const start = 1_700_000_000_000;
          const before = ask(null, [from], [TAKE, Math.min(cost, policyOf(from).capacity)], start).state;
          const now = start + later;
          const [left] = used(before, [from], now) as [number];
          const after = ask(before, [to], [PEEK, 1], now).reply.outcomes[1] as number;
          const share = left / policyOf(from).capacity;
          const capacity = policyOf(to).capacity;
          // A bucket's level is known to the tick; its whole tokens may hide up to one.
          const hidden = from.kind === "tokenBucket" ? capacity / policyOf(from).capacity : 0;
          expect(after).toBeLessThanOrEqual(share * capacity + hidden + 1e-9);
          expect(after).toBeGreaterThanOrEqual(Math.floor(share * capacity - 1e-9) - 1);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('keeps the used tokens with "used", and nothing with "reset"', () => {
    const from: PolicySpec = { kind: "fixedWindow", limit: 10, window: 86_400_000 };
    const to: PolicySpec = { kind: "slidingWindow", limit: 4, window: 1000, resolution: 1 };
    const { state } = ask(null, [from], [TAKE, 3], 5000);
    const left = (carry: Carry) => ask(state, [to], [PEEK, 1], 5000, carry).reply.outcomes[1];
    expect([left("share"), left("used"), left("reset")]).toEqual([2, 1, 4]);
  });

  test("does not creep while old and new limiters ask in turn", () => {
    fc.assert(
      fc.property(policy, policy, fc.integer({ min: 2, max: 300 }), (a, b, turns) => {
        fc.pre(JSON.stringify(a) !== JSON.stringify(b));
        const start = 1_700_000_000_000;
        let { state } = ask(null, [a], [TAKE, 1], start);
        const changes: number[] = [];
        for (let turn = 1; turn <= turns; turn++) {
          const now = start + turn * 1000;
          const result = ask(state, [turn % 2 ? b : a], [RESET, 1, TAKE, 1], now);
          if (result.state && state && result.state.since !== state.since) changes.push(now);
          state = result.state;
        }
        for (let nth = 1; nth < changes.length; nth++) {
          expect((changes[nth] as number) - (changes[nth - 1] as number)).toBeGreaterThanOrEqual(POLICY_MS_MIN);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("says by which policies it decided, if not by those it was asked for", () => {
    const a: PolicySpec = { kind: "fixedWindow", limit: 10, window: 1e9 };
    const b: PolicySpec = { kind: "fixedWindow", limit: 20, window: 1e9 };
    const { state } = ask(ask(null, [a], [TAKE, 1], 5000).state, [b], [TAKE, 1], 6000);
    expect(ask(state, [a], [TAKE, 1], 7000).reply.policies).toEqual([b]);
    expect(ask(state, [a], [TAKE, 1], 6000 + POLICY_MS_MIN).reply.policies).toBeUndefined();
  });

  test("finds each of several policies again, wherever it stands", () => {
    const [a, b, c]: PolicySpec[] = [
      { kind: "fixedWindow", limit: 10, window: 1e9 },
      { kind: "slidingWindow", limit: 100, window: 1e9, resolution: 1e8 },
      { kind: "fixedWindow", limit: 50, window: 1e9 },
    ];
    const { state } = ask(null, [a as PolicySpec, b as PolicySpec], [TAKE, 5], 5000);
    expect(used(state, [b as PolicySpec, a as PolicySpec], 5000)).toEqual([95, 5]);
    expect(used(state, [b as PolicySpec], 5000)).toEqual([95]);
    expect(used(state, [c as PolicySpec, b as PolicySpec, a as PolicySpec], 5000)).toEqual([25, 95, 5]);
  });
});
