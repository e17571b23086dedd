import { getHeapStatistics } from "node:v8";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Decision, LocalKey, LocalLimiter } from "../../ts/contract.ts";
import { limiterFor } from "../../ts/create-limiter.ts";
import { createLimiter, fixedWindow, local, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { cores, openTable } from "../support/cores.ts";
import { FakeAmbient } from "../support/fake-ambient.ts";
import { keyOf } from "../support/model.ts";

const START = 1_750_000_000_123;
const bucket = tokenBucket({ rate: 3, per: "7s", burst: 5 });
const policies = [bucket, fixedWindow({ limit: 4, window: "10s" }), slidingWindow({ limit: 6, window: "20s" })];

function limiterAt(time: { now: number }, policy = bucket, options = {}) {
  return createLimiter({ policy, design: local(options), clock: { now: () => time.now } });
}

const calls = fc.array(fc.record({ nth: fc.nat(20), cost: fc.integer({ min: 1, max: 7 }) }), { maxLength: 300 });
const rounds = fc.array(fc.record({ calls, wait: fc.nat(8000) }), { maxLength: 5 });

test("allow, allowMany and limitMany decide as limitSync does", () => {
  fc.assert(
    fc.property(fc.constantFrom(...policies), rounds, (policy, rounds) => {
      const time = { now: START };
      const [singly, allowing, many, allowingMany] = Array.from({ length: 4 }, () => limiterAt(time, policy)) as [
        ReturnType<typeof limiterAt>,
        ReturnType<typeof limiterAt>,
        ReturnType<typeof limiterAt>,
        ReturnType<typeof limiterAt>,
      ];
      for (const { calls, wait } of rounds) {
        time.now += wait;
        const keys = calls.map(({ nth }) => keyOf(nth));
        const costs = calls.map(({ cost }) => cost);
        const expected = calls.map(({ nth, cost }) => singly.limitSync(keyOf(nth), { cost }));
        const admitted = expected.map(({ success }) => success);
        expect(calls.map(({ nth, cost }) => allowing.allow(keyOf(nth), cost))).toEqual(admitted);
        expect(many.limitMany(keys, costs)).toEqual(expected);
        expect(Array.from(allowingMany.allowMany(keys, costs), Boolean)).toEqual(admitted);
      }
    }),
    { numRuns: 60 },
  );
});

test("a batch of keys that do not fit into one call, in the room given", () => {
  const limiter = limiterAt({ now: START }, tokenBucket({ rate: 1, per: "1h", burst: 1 }));
  const keys = Array.from({ length: 200 }, (_, nth) => `${"é✓".repeat(nth * nth)}${nth}`);
  const into = new Uint8Array(201).fill(9);
  expect(limiter.allowMany(keys, undefined, into)).toBe(into);
  expect(Array.from(into)).toEqual([...keys.map(() => 1), 9]);
  expect(limiter.allowMany(keys)).toEqual(new Uint8Array(200));
});

test("every method takes every form of key", async () => {
  const limiter = limiterAt({ now: START });
  for (const key of ["a", ["a", "b"], 7, new Uint8Array(16)] as LocalKey[]) {
    expect((await limiter.limit(key, { cost: 2 })).remaining).toBe(3);
    expect((await limiter.peek(key)).remaining).toBe(3);
    expect((await limiter.refund(key, 1)).remaining).toBe(4);
    expect((await limiter.reset(key)).remaining).toBe(5);
    expect(limiter.limitMany([key], [5])[0]?.remaining).toBe(0);
  }
  expect(limiter.stats().keys).toBe(4);
});

test("a clock that is set back stands still", () => {
  const time = { now: START };
  const limiter = limiterAt(time);
  limiter.limitSync("a", { cost: 5 });
  time.now -= 86_400_000;
  expect(limiter.limitSync("a")).toMatchObject({ success: false, reset: START + 11_667 });
  time.now = START + 11_667;
  expect(limiter.limitSync("a").remaining).toBe(4);
});

test("what is no key or no cost is a RangeError, and takes nothing", () => {
  const limiter = limiterAt({ now: START });
  const noKeys = ["", [], ["a", 1], 1.5, Number.NaN, 2 ** 53, new Uint8Array(15), undefined, null, {}, 1n];
  for (const key of noKeys as LocalKey[]) {
    expect(() => limiter.limitSync(key)).toThrow(RangeError);
    expect(() => limiter.allow(key)).toThrow(RangeError);
    // Far enough behind that it is in another call.
    const batch = [...Array.from({ length: 100 }, (_, nth) => nth), key];
    expect(() => limiter.limitMany(batch)).toThrow(RangeError);
    expect(() => limiter.allowMany(batch)).toThrow(RangeError);
  }
  for (const cost of [0, -1, 1.5, Number.NaN, "1"] as number[]) {
    expect(() => limiter.allow("a", cost)).toThrow(/cost must be an integer/);
    expect(() => limiter.limitMany(["a", "b"], [1, cost])).toThrow(/cost must be an integer/);
  }
  expect(() => limiter.limitMany(["a", "b"], [1])).toThrow(/costs must be an array of 2/);
  expect(() => limiter.allowMany(["a", "b"], undefined, new Uint8Array(1))).toThrow(/into must be/);
  expect(limiter.stats().keys).toBe(0);
});

test("options are checked when the limiter is made", () => {
  expect(() => local({ maxKeys: 0 })).toThrow(/maxKeys must be an integer in 1\.\./);
  expect(() => local({ whenFull: "panic" as "deny-new" })).toThrow(/whenFull must be "deny-new"/);
  expect(() => local({ size: 3 } as object)).toThrow(/no option "size"/);
  expect(() => limiterAt({ now: 0 }, bucket, { maxKeys: 1e9 })).toThrow(
    /maxKeys must be at most \d+ under this policy/,
  );
});

test("the default bound is a million keys, or what fits into 64 MiB", () => {
  const time = { now: START };
  expect(limiterAt(time).stats()).toMatchObject({ keys: 0, maxKeys: 1_000_000 });
  const runs128 = slidingWindow({ limit: 1000, window: "1m" });
  expect(limiterAt(time, runs128).stats().maxKeys).toBe(31_775);
});

test("a closed limiter answers nothing", async () => {
  const limiter = limiterAt({ now: START });
  limiter.allow("a");
  await limiter.close();
  for (const call of [() => limiter.allow("a"), () => limiter.limitSync("a"), () => limiter.limitMany(["a"])]) {
    expect(call).toThrow(/is closed/);
  }
  await expect(limiter.peek("a")).rejects.toThrow(/is closed/);
});

test("the seed is drawn at the first call and not before", () => {
  let drawn = 0;
  const random = () => {
    drawn += 1;
  };
  const limiter = limiterFor(Object.assign(new FakeAmbient(START), { random }))({ policy: bucket, design: local() });
  expect(drawn).toBe(0);
  limiter.allow("a");
  expect(drawn).toBe(1);
  limiter.allow("b");
  expect(drawn).toBe(1);
});

// V8 of Node 20 reads a number's length if its optimizer is led to: the process dies.
describe.each(Object.keys(cores))("keys of all forms, often enough to be optimized: %s", (name) => {
  test("one by one and in batches", () => {
    const table = openTable(name, tokenBucket({ rate: 1, per: "1h", burst: 1 }));
    const keys = Array.from({ length: 100_000 }, (_, nth) => keyOf(nth));
    const taken = new Uint8Array(keys.length);
    for (let start = 0; start < keys.length; start += 100) {
      table.takeMany(keys.slice(start, start + 100), START, undefined, taken.subarray(start));
      for (let nth = start; nth < start + 50; nth++) {
        const key = keys[nth] as LocalKey;
        if (table.take(key, START, 1) || table.decide(key, START, 1, true).admitted) taken[nth] = 2;
        if (table.refund(key, START, 1).remaining + table.refund(key, START, Number.POSITIVE_INFINITY).remaining !== 2)
          taken[nth] = 3;
      }
    }
    expect(taken.findIndex((value) => value !== 1)).toBe(-1);
  });
});

test("allow allocates nothing", () => {
  const limiter = createLimiter({ policy: bucket, clock: { now: () => 12_345_678 } });
  const keys = Array.from({ length: 1000 }, (_, nth) => `user:${nth}`);
  const allowAll = () => {
    let admitted = 0;
    for (let round = 0; round < 1000; round++) for (const key of keys) if (limiter.allow(key)) admitted += 1;
    return admitted;
  };
  allowAll();
  allowAll();
  const before = getHeapStatistics();
  allowAll();
  const after = getHeapStatistics();
  // A collection in between would make it less, and a byte a call a megabyte more.
  expect(Math.abs(after.used_heap_size - before.used_heap_size)).toBeLessThan(500_000);
});

describe("several policies", () => {
  const several = [bucket, fixedWindow({ limit: 8, window: "1h" })];
  const time = { now: START };

  test("admit together or are not charged, one by one and in batches", () => {
    const limiter = createLimiter({ policy: several, clock: { now: () => time.now } });
    const burst = bucket.capacity;
    const costs = [...Array.from({ length: burst }, () => 1), 1];
    const decisions = limiter.limitMany(
      costs.map(() => "a"),
      costs,
    );
    expect(decisions.map(({ success }) => success)).toEqual([...Array.from({ length: burst }, () => true), false]);
    const refused = decisions[burst] as Decision;
    expect(refused).toMatchObject({ limit: burst, remaining: 0, reason: "limited" });
    expect(refused.each?.map(({ success, remaining }) => [success, remaining])).toEqual([
      [false, 0],
      [true, 8 - burst],
    ]);
    expect(limiter.allow("a")).toBe(false);
    expect([...limiter.allowMany(["a", "b"])]).toEqual([0, 1]);
  });

  // Each forgets a key at a time of its own, so that one may be full where another is not.
  test("change nothing where one refuses, be it for want of a place", async () => {
    const sets = [
      [bucket, fixedWindow({ limit: 8, window: "1h" })],
      [slidingWindow({ limit: 5, window: "10s" }), tokenBucket({ rate: 1, per: "5s", burst: 5 })],
      [fixedWindow({ limit: 6, window: "5s" }), slidingWindow({ limit: 6, window: "20s", resolution: "1s" })],
    ];
    const wait = fc.constantFrom(0, 500, 2500, 6000, 9000);
    const call = fc.record({ nth: fc.nat(2), cost: fc.constantFrom(1, 5), wait });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sets), fc.array(call, { maxLength: 60 }), async (policies, calls) => {
        const clock = { now: () => now };
        let now = START;
        const pair = [0, 1].map(() => createLimiter({ policy: policies, design: local({ maxKeys: 2 }), clock }));
        const [limiter, spared] = pair as [LocalLimiter, LocalLimiter];
        for (const { nth, cost, wait } of calls) {
          now += wait;
          const key = keyOf(nth);
          // The other one is spared the calls that are refused.
          if (limiter.limitSync(key, { cost }).success) expect(spared.limitSync(key, { cost }).success).toBe(true);
          for (let other = 0; other < 3; other++) {
            expect((await limiter.peek(keyOf(other))).each).toEqual((await spared.peek(keyOf(other))).each);
          }
        }
        expect(limiter.stats().keys).toBeLessThanOrEqual(2);
      }),
      { numRuns: 2000 },
    );
  });

  test("say so where a table is full", async () => {
    const limiter = createLimiter({ policy: several, design: local({ maxKeys: 1 }), clock: { now: () => time.now } });
    const admitted = Array.from({ length: 100 }, (_, nth) => limiter.allow(`key${nth}`));
    expect(admitted).toEqual(admitted.map((_, nth) => nth === 0));
    expect(limiter.stats().deniedNew).toBe(99);
    expect(limiter.limitSync("key99", { cost: 9 })).toMatchObject({ success: false, retryAfterMs: null });
    expect((await limiter.refund("key0", 1)).remaining).toBe(bucket.capacity);
  });
});
