import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LeaseTable } from "../../ts/core/lease-table.ts";
import { cores } from "../support/cores.ts";

const open = (name: string, most: number) =>
  new LeaseTable((cores[name] as () => ReturnType<(typeof cores)[string]>)(), {
    most,
    random: (bytes) => void bytes.fill(3),
  });

/** The same in the plainest way. */
class Model {
  readonly #held = new Map<string, { tokens: number; end: number; low: number; wholeAt: number }>();
  left = 0;
  wholeAt = 0;

  lend(key: string, tokens: number, end: number, low: number, wholeAt: number): void {
    this.#held.set(key, { tokens, end, low, wholeAt });
  }

  spend(key: string, now: number, cost: number): boolean {
    const held = this.#held.get(key);
    if (!held || now >= held.end || held.tokens - cost <= held.low) return false;
    held.tokens -= cost;
    this.left = held.tokens;
    this.wholeAt = held.wholeAt;
    return true;
  }

  recall(key: string): number {
    const tokens = this.#held.get(key)?.tokens ?? 0;
    this.#held.delete(key);
    return tokens;
  }
}

const key = fc.integer({ min: 0, max: 2000 }).map((nth) => `${nth % 3 === 0 ? "π" : "key"}:${nth}`);
const ms = fc.double({ min: 0, max: 10_000, noNaN: true });
const tokens = fc.integer({ min: 1, max: 50 });
const low = fc.oneof(fc.constant(-1), fc.double({ min: 0, max: 5, noNaN: true }));
const call = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(fc.constant("lend" as const), key, tokens, ms, low, ms) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("spend" as const), key, ms, tokens) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("recall" as const), key) },
);

describe.each(Object.keys(cores))("leases in WASM, %s", (name) => {
  test("are spent and taken back as a map of them would be", () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 400 }), fc.boolean(), (calls, few) => {
        const table = open(name, 100_000);
        const model = new Model();
        // Of few keys every one is met again and again.
        const named = (key: string) => (few ? key.slice(0, 5) : key);
        for (const [what, key, ...rest] of calls) {
          if (what === "lend") {
            const [tokens, end, low, wholeAt] = rest as [number, number, number, number];
            expect(table.lend(named(key), tokens, end, low, wholeAt)).toBe(true);
            model.lend(named(key), tokens, end, low, wholeAt);
          } else if (what === "spend") {
            const [now, cost] = rest as [number, number];
            const spent = model.spend(named(key), now, cost);
            expect(table.spend(named(key), now, cost)).toBe(spent);
            if (spent) expect([table.left, table.wholeAt]).toEqual([model.left, model.wholeAt]);
          } else {
            expect(table.recall(named(key))).toBe(model.recall(named(key)));
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test("stay until they are taken back, however many others come and go and whenever they end", () => {
    const most = 20_000;
    const table = open(name, most);
    const tokensOf = (nth: number) => 1 + (nth % 97);
    for (let nth = 0; nth < most; nth++) expect(table.lend(`k${nth}`, tokensOf(nth), 5, -1, 0)).toBe(true);
    for (let nth = 0; nth < most; nth++) expect(table.spend(`k${nth}`, 6, 1)).toBe(false);
    for (let nth = 0; nth < most; nth += 2) expect(table.recall(`k${nth}`)).toBe(tokensOf(nth));
    // Half of the places are free again, though not each at once: a full table looks at a page a call.
    let lent = 0;
    for (let nth = 0; nth < most; nth += 2) if (table.lend(`n${nth}`, 7, 9, -1, 0)) lent++;
    expect(lent).toBeGreaterThan(0.9 * (most / 2));
    for (let nth = 1; nth < most; nth += 2) expect(table.recall(`k${nth}`)).toBe(tokensOf(nth));
  });

  test("a table that is full holds no more, and loses nothing", () => {
    const table = open(name, 500);
    const held: string[] = [];
    for (let nth = 0; nth < 2000; nth++) if (table.lend(`k${nth}`, nth + 1, 9, -1, 0)) held.push(`k${nth}`);
    expect(held).toHaveLength(500);
    for (const [nth, key] of held.entries()) expect(table.recall(key)).toBe(nth + 1);
  });
});
