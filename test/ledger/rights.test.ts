import { describe, expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { guarded } from "../../ts/ledger/guard.ts";
import { type RightsRequest, TAKE } from "../../ts/ledger/messages.ts";
import { SILENT_MS_MAX } from "../../ts/ledger/rights.ts";
import { DAY, Ledger } from "../support/key-ledger.ts";

/** A tenth of a token per ms. */
const bucket: PolicySpec = { kind: "tokenBucket", rate: 100, per: 1000, burst: 100 };
const daily: PolicySpec = { kind: "tokenBucket", rate: 1, per: DAY, burst: 100 };
const BLIND = 1000;

/** A holder's rights, each request of which tells that the answer to the one before was heard. */
function rightsOf(pops: number) {
  let asked = 0;
  return (given: Partial<RightsRequest> = {}): RightsRequest => {
    asked++;
    const rights = { pops, blindMs: BLIND, share: false, overdraft: 50, overdrawn: 0, shared: 0, keep: true };
    return { ...rights, asked, heard: asked - 1, ...given };
  };
}

describe("rights to a key", () => {
  test("go to as many holders as were counted on, and to the next when one gives them up", () => {
    const ledger = new Ledger(bucket);
    const [a, b, c] = [rightsOf(2), rightsOf(2), rightsOf(2)];
    expect(ledger.ask("a", { rights: a() }).lease.debt).toBe(0);
    expect(ledger.ask("b", { rights: b() }).lease.debt).toBe(0);
    expect(ledger.ask("c", { rights: c() }).lease.debt).toBeUndefined();
    expect(ledger.ask("a", { rights: a() }).lease.debt).toBe(0);
    ledger.ask("b", { rights: b({ keep: false }) });
    expect(ledger.ask("c", { rights: c() }).lease.debt).toBe(0);
  });

  test("end after a long silence, with all that may have been overdrawn booked", () => {
    const ledger = new Ledger(daily);
    const a = rightsOf(1);
    ledger.ask("a", { rights: a() });
    ledger.now += guarded(SILENT_MS_MAX) - 1;
    expect(ledger.free).toBe(100);
    ledger.now++;
    expect(ledger.free).toBe(50);
    // Whatever it was in truth: that is not to be counted again.
    ledger.ask("a", { rights: a({ overdrawn: 50 }) });
    expect(ledger.free).toBe(50);
  });
});

describe("an overdraft", () => {
  test("is booked beyond the limit, and paid before anyone gets anything", () => {
    const ledger = new Ledger(bucket);
    const a = rightsOf(2);
    ledger.ask("a", { rights: a() });
    ledger.ask("b", undefined, [TAKE, 90]);
    const { lease } = ledger.ask("a", { rights: a({ overdrawn: 45 }), ask: 10 });
    expect(lease).toMatchObject({ debt: 35, tokens: 0 });
    ledger.now += 100;
    expect(ledger.ask("a", { rights: a({ overdrawn: 45 }) }).lease.debt).toBe(25);
    expect(ledger.free).toBe(0);
    const { reply } = ledger.ask("b", undefined, [TAKE, 1]);
    expect(reply.outcomes).toEqual([0, 0, 260, expect.any(Number)]);
    ledger.now += 260;
    expect(ledger.ask("b", undefined, [TAKE, 1]).reply.outcomes[0]).toBe(1);
  });

  for (const [name, spec] of Object.entries({
    bucket: { kind: "tokenBucket", rate: 10, per: 1000, burst: 10 },
    fixed: { kind: "fixedWindow", limit: 10, window: 1000 },
    sliding: { kind: "slidingWindow", limit: 10, window: 1000, resolution: 1 },
  } satisfies Record<string, PolicySpec>)) {
    test(`of many budgets takes that many of them, also if nobody asks meanwhile: ${name}`, () => {
      const ledger = new Ledger(spec);
      const a = rightsOf(2);
      ledger.ask("a", { rights: a() });
      ledger.ask("a", { rights: a({ overdrawn: 45, keep: false }) });
      expect(ledger.state?.debts).toEqual([35]);
      ledger.now += 3100;
      expect(ledger.free).toBe(0);
      ledger.now += 3000;
      expect(ledger.free).toBe(10);
    });
  }

  test("is forgiven by a reset, and paid by a refund", () => {
    const ledger = new Ledger(daily);
    const a = rightsOf(2);
    ledger.ask("a", { rights: a() });
    ledger.ask("a", { rights: a({ overdrawn: 130 }) });
    ledger.ask("b", undefined, [2, 40]);
    expect(ledger.free).toBe(10);
    ledger.ask("a", { rights: a({ overdrawn: 150 }) });
    ledger.ask("b", undefined, [3, 1]);
    expect(ledger.free).toBe(100);
  });
});

describe("a share", () => {
  test("is reserved as it accrues, once its holder has heard nothing for a while", () => {
    const ledger = new Ledger(bucket);
    const a = rightsOf(5);
    ledger.ask("a", { rights: a({ share: true }) });
    ledger.ask("b", undefined, [TAKE, 100]);
    ledger.now += BLIND;
    expect(ledger.free).toBe(100);
    // 20 tokens a second is its part, and 10 what it saves up.
    ledger.now += 250;
    expect(ledger.free).toBe(95);
    ledger.now += 250;
    expect(ledger.free).toBe(90);
    // From then on what it doesn't save up counts as used.
    ledger.ask("b", undefined, [TAKE, 90]);
    ledger.now += 500;
    expect(ledger.free).toBe(40);
  });

  test("is settled when its holder is back, and reserved until that has heard the answer", () => {
    const ledger = new Ledger({ kind: "fixedWindow", limit: 100, window: DAY });
    const b = rightsOf(5);
    ledger.ask("b", { rights: b({ share: true }) });
    ledger.now += BLIND;
    expect(ledger.free).toBe(80);
    ledger.ask("b", { rights: b({ share: true, shared: 15, heard: 0 }) });
    expect(ledger.free).toBe(65);
    ledger.ask("b", { rights: b({ share: true, shared: 15, heard: 2 }) });
    expect(ledger.free).toBe(85);
  });

  test("is reserved for a holder that asks and asks, but hears no answer", () => {
    const ledger = new Ledger({ kind: "fixedWindow", limit: 100, window: DAY });
    const a = rightsOf(5);
    ledger.ask("a", { rights: a({ share: true }) });
    for (let nth = 0; nth < 4; nth++) {
      ledger.now += BLIND / 4;
      ledger.ask("a", { rights: a({ share: true, heard: 0 }) });
    }
    expect(ledger.free).toBe(80);
  });
});

test("rights that make no sense are refused", () => {
  const ledger = new Ledger(bucket);
  for (const wrong of [{ pops: 0 }, { overdrawn: -1 }, { blindMs: 0.5 }, { asked: 0 }]) {
    expect(() => ledger.ask("a", { rights: rightsOf(1)(wrong) })).toThrow(RangeError);
  }
});
