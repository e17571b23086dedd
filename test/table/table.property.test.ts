import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LocalKey, Policy } from "../../ts/contract.ts";
import type { Table } from "../../ts/core/table.ts";
import { fixedWindow, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { cores, openTable } from "../support/cores.ts";
import { keyOf, Model } from "../support/model.ts";
import { randomIntegers } from "../support/random.ts";

const START = 1_750_000_000_123;
const DAY = 86_400_000;

const policies: Record<string, Policy> = {
  "a slow bucket": tokenBucket({ rate: 3, per: "7s", burst: 5 }),
  "a fast bucket": tokenBucket({ rate: 1000, per: "1s", burst: 50 }),
  // 2^21 ticks a ms: the table's epoch moves every 6.2 days.
  "the bucket of most ticks": tokenBucket({ rate: 2 ** 21, per: 1, burst: 2 ** 40 }),
  "a fixed window": fixedWindow({ limit: 4, window: "10s" }),
  "a sliding window": slidingWindow({ limit: 6, window: "20s" }),
  "a coarse sliding window": slidingWindow({ limit: 1000, window: "10s", resolution: "1s" }),
};

interface Single {
  op: "take" | "peek" | "refund" | "reset";
  nth: number;
  /** Of the capacity, to take or give back. */
  share: number;
  wait: number;
}
type Step = Single | { batch: Single[] };

const single: fc.Arbitrary<Single> = fc.record({
  op: fc.constantFrom<Single["op"][]>("take", "take", "take", "take", "peek", "refund", "reset"),
  nth: fc.nat(30),
  share: fc.double({ min: 0.01, max: 1.2, noNaN: true }),
  wait: fc.oneof(fc.constant(0), fc.nat(10), fc.nat(5000), fc.nat(30_000), fc.nat(8 * DAY), fc.nat(300 * 365 * DAY)),
});
const steps = fc.array(
  fc.oneof({ weight: 8, arbitrary: single }, fc.record({ batch: fc.array(single, { maxLength: 90 }) })),
  {
    maxLength: 120,
  },
);

/** Does a step to both; the answers must be equal. */
function both(table: Table, model: Model, policy: Policy, step: Step, now: number): number {
  const costOf = (share: number) => Math.max(Math.floor(share * policy.capacity), 1);
  if ("batch" in step) {
    const keys = step.batch.map(({ nth }) => keyOf(nth));
    const costs = step.batch.map(({ share }) => costOf(share));
    const expected = keys.map((key, index) => model.decide(key, now, costs[index] as number, true));
    expect(table.decideMany(keys, now, costs)).toEqual(expected);
    return now;
  }
  const later = now + step.wait;
  const key = keyOf(step.nth);
  const amount = costOf(step.share);
  if (step.op === "reset") {
    model.reset(key);
    expect(table.refund(key, later, Number.POSITIVE_INFINITY)).toEqual(model.decide(key, later, 1, false));
  } else if (step.op === "refund") {
    model.refund(key, later, amount);
    expect(table.refund(key, later, amount)).toEqual(model.decide(key, later, 1, false));
  }
  const commit = step.op === "take";
  expect(table.decide(key, later, amount, commit)).toEqual(model.decide(key, later, amount, commit));
  return later;
}

describe.each(Object.keys(cores))("the table answers as a Map of the arithmetic does: %s", (name) => {
  test.each(Object.keys(policies))("%s", (which) => {
    const policy = policies[which] as Policy;
    fc.assert(
      fc.property(steps, (steps) => {
        const table = openTable(name, policy);
        const model = new Model(policy);
        let now = START;
        for (const step of steps) now = both(table, model, policy, step, now);
      }),
      { numRuns: name === "shared memory" ? 300 : 60 },
    );
  });
});

describe.each(["shared memory", "memory of its own", "debug build"])("over many keys: %s", (name) => {
  // Keys come and go: the table grows, drops what has become whole, and uses its places again.
  test.each(Object.keys(policies))("%s", (which) => {
    const policy = policies[which] as Policy;
    const table = openTable(name, policy);
    const model = new Model(policy);
    const random = randomIntegers(which.length);
    const operations = name === "shared memory" ? 400_000 : 60_000;
    let now = START;
    let population = 100;
    for (let done = 0; done < operations; done++) {
      if (done % 20_000 === 0) population = 1 + random(60_000);
      if (random(1000) === 0) now += random(random(20) === 0 ? DAY : 3000);
      const key = keyOf(random(population));
      const cost = 1 + random(Math.min(policy.capacity, 2 ** 30));
      const commit = random(10) !== 0;
      const answer = table.decide(key, now, cost, commit);
      const expected = model.decide(key, now, cost, commit);
      if (JSON.stringify(answer) !== JSON.stringify(expected))
        expect({ done, ...answer }).toEqual({ done, ...expected });
      if (done % 1000 === 0) expect(table.stats().keys).toBeLessThanOrEqual(model.held.size);
    }
    expect(table.stats()).toMatchObject({ deniedNew: 0, allowedNew: 0, evicted: 0 });
  });
});

test("the places of keys whose budget is whole are used again", () => {
  const policy = tokenBucket({ rate: 1, per: "1s", burst: 5 });
  const table = openTable("shared memory", policy);
  let now = START;
  for (let nth = 0; nth < 1_000_000; nth++) {
    if (nth % 10 === 0) now += 1;
    table.take(nth, now, 1);
  }
  // 10,000 keys are live at a time; the million that were would take 20 MB.
  expect(table.stats().keys).toBeLessThan(25_000);
  expect(table.stats().bytes).toBeLessThan(1_200_000);
});

test.each([1e3, 2e4, 1e5, 3e5, 1e6])("%i keys take no more memory than promised", (count) => {
  const policy = tokenBucket({ rate: 1, per: "1h", burst: 5 });
  const table = openTable("shared memory", policy);
  for (let nth = 0; nth < count; nth++) table.take(nth, START, 1);
  expect(table.stats().keys).toBe(count);
  // The memory grows by 1 MiB at a time.
  expect(table.stats().bytes).toBeLessThan(27 * count + 2 ** 20 + 65_536);
});

test("two keys never share a place, and one key never has two", () => {
  const policy = tokenBucket({ rate: 1, per: "1h", burst: 1 });
  const table = openTable("shared memory", policy);
  const keys = Array.from({ length: 300_000 }, (_, nth) => keyOf(nth) as LocalKey);
  const taken = new Uint8Array(keys.length);
  table.takeMany(keys, START, undefined, taken);
  expect(taken.indexOf(0)).toBe(-1);
  table.takeMany(keys, START + 1, undefined, taken);
  expect(taken.indexOf(1)).toBe(-1);
  expect(table.stats().keys).toBe(keys.length);
});
