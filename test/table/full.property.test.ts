import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Policy } from "../../ts/contract.ts";
import { fixedWindow, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { cores, openTable } from "../support/cores.ts";
import { keyOf, Model, nameOf } from "../support/model.ts";
import { randomIntegers } from "../support/random.ts";

const START = 1_750_000_000_123;

const policies: Record<string, Policy> = {
  bucket: tokenBucket({ rate: 3, per: "7s", burst: 50 }),
  "fixed window": fixedWindow({ limit: 40, window: "10s" }),
  "sliding window": slidingWindow({ limit: 30, window: "20s" }),
};

const step = fc.record({
  commit: fc.boolean(),
  nth: fc.nat(40),
  cost: fc.integer({ min: 1, max: 60 }),
  wait: fc.oneof(fc.constant(0), fc.nat(10), fc.nat(5000), fc.nat(60_000)),
});
const steps = fc.array(step, { maxLength: 150 });
const maxKeys = fc.integer({ min: 1, max: 20 });

// A table of one page knows all its keys, and so does exactly what it says.
describe.each(Object.keys(cores))("a full table of one page: %s", (name) => {
  test.each(Object.keys(policies))("denies new keys until the first place is free: %s", (which) => {
    const policy = policies[which] as Policy;
    fc.assert(
      fc.property(maxKeys, steps, (maxKeys, steps) => {
        const table = openTable(name, policy, { maxKeys });
        const model = new Model(policy);
        let now = START;
        let denied = 0;
        for (const { commit, nth, cost, wait } of steps) {
          now += wait;
          const key = keyOf(nth);
          const live = model.live(now);
          const answer = table.decide(key, now, cost, commit);
          if (commit && cost <= policy.capacity && live.size >= maxKeys && !live.has(nameOf(key))) {
            const untilRoom = Math.min(...live.values());
            expect(answer).toEqual({ admitted: false, remaining: 0, retryAfterMs: untilRoom, resetMs: untilRoom });
            denied += 1;
          } else {
            expect(answer).toEqual(model.decide(key, now, cost, commit));
          }
          expect(table.stats().keys).toBeLessThanOrEqual(maxKeys);
        }
        expect(table.stats()).toMatchObject({ deniedNew: denied, allowedNew: 0, evicted: 0 });
      }),
      { numRuns: name === "shared memory" ? 200 : 50 },
    );
  });

  test.each(Object.keys(policies))("has room again for whoever comes once a key got all back: %s", (which) => {
    const policy = policies[which] as Policy;
    const costs = fc.array(fc.integer({ min: 1, max: policy.capacity }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(costs, fc.nat(), fc.boolean(), (costs, which, reset) => {
        const table = openTable(name, policy, { maxKeys: costs.length });
        for (const [nth, cost] of costs.entries()) expect(table.take(keyOf(nth), START, cost)).toBe(true);
        const nth = which % costs.length;
        table.refund(keyOf(nth), START, reset ? Number.POSITIVE_INFINITY : (costs[nth] as number));
        expect(table.take(keyOf(costs.length), START, 1)).toBe(true);
        expect(table.take(keyOf(costs.length + 1), START, 1)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  test.each(Object.keys(policies))("admits new keys and does not remember them: %s", (which) => {
    const policy = policies[which] as Policy;
    fc.assert(
      fc.property(maxKeys, steps, (maxKeys, steps) => {
        const table = openTable(name, policy, { maxKeys, whenFull: "allow-new" });
        const model = new Model(policy);
        let now = START;
        let allowed = 0;
        for (const { commit, nth, cost, wait } of steps) {
          now += wait;
          const key = keyOf(nth);
          const live = model.live(now);
          const forgotten = commit && cost <= policy.capacity && live.size >= maxKeys && !live.has(nameOf(key));
          expect(table.decide(key, now, cost, commit)).toEqual(model.decide(key, now, cost, commit));
          if (!forgotten) continue;
          model.reset(key);
          allowed += 1;
        }
        expect(table.stats()).toMatchObject({ deniedNew: 0, allowedNew: allowed, evicted: 0 });
      }),
      { numRuns: name === "shared memory" ? 200 : 50 },
    );
  });

  test.each(Object.keys(policies))("forgets the key that has used least: %s", (which) => {
    const policy = policies[which] as Policy;
    fc.assert(
      fc.property(maxKeys, steps, (maxKeys, steps) => {
        const table = openTable(name, policy, { maxKeys, whenFull: "evict-fullest" });
        const model = new Model(policy);
        let now = START;
        let evicted = 0;
        for (const { nth, cost, wait } of steps) {
          now += wait;
          const key = keyOf(nth);
          const live = model.live(now);
          const evicts = cost <= policy.capacity && live.size >= maxKeys && !live.has(nameOf(key));
          expect(table.decide(key, now, cost, true)).toEqual(model.decide(key, now, cost, true));
          if (!evicts) continue;
          evicted += 1;
          // Which one of several that have used as little is not said.
          const remaining = (nth: number) => table.decide(keyOf(nth), now, 1, false).remaining;
          const others = Array.from({ length: 41 }, (_, other) => other).filter(
            (other) => other !== nth && live.has(nameOf(keyOf(other))),
          );
          const gone = others.filter(
            (other) => remaining(other) !== model.decide(keyOf(other), now, 1, false).remaining,
          );
          expect(gone.length).toBe(1);
          const left = others.map((other) => model.decide(keyOf(other), now, 1, false).remaining);
          const victim = gone[0] as number;
          expect(model.decide(keyOf(victim), now, 1, false).remaining).toBe(Math.max(...left));
          model.reset(keyOf(victim));
        }
        expect(table.stats()).toMatchObject({ deniedNew: 0, allowedNew: 0, evicted });
      }),
      { numRuns: name === "shared memory" ? 200 : 50 },
    );
  });

  // A look settles what it sees: here nobody has looked since each key's last take.
  test.each(Object.keys(policies))("forgets the key that has used least by now: %s", (which) => {
    const policy = policies[which] as Policy;
    const take = fc.record({ nth: fc.nat(3), cost: fc.integer({ min: 1, max: 12 }), wait: fc.nat(5000) });
    fc.assert(
      fc.property(fc.array(take, { minLength: 4, maxLength: 40 }), (takes) => {
        const table = openTable(name, policy, { maxKeys: 4, whenFull: "evict-fullest" });
        const model = new Model(policy);
        let now = START;
        for (const { nth, cost, wait } of takes) {
          now += wait;
          expect(table.decide(keyOf(nth), now, cost, true)).toEqual(model.decide(keyOf(nth), now, cost, true));
        }
        fc.pre(model.live(now).size === 4);
        expect(table.take(keyOf(4), now, 1)).toBe(true);
        const keys = [0, 1, 2, 3].map(keyOf);
        const left = keys.map((key) => model.decide(key, now, 1, false).remaining);
        const most = Math.max(...left);
        const seen = keys.map((key) => table.decide(key, now, 1, false).remaining);
        const gone = keys.map((_, nth) => nth).filter((nth) => seen[nth] !== left[nth]);
        expect(gone.map((nth) => left[nth])).toEqual([most]);
      }),
      { numRuns: name === "shared memory" ? 200 : 50 },
    );
  });
});

// A key of this window takes a block of 1 MiB.
test.each([
  ["deny-new", false],
  ["allow-new", true],
  ["evict-fullest", true],
] as const)("a table whose memory ends before its first key does as it was told: %s", (whenFull, admits) => {
  const policy = slidingWindow({ limit: 65_536, window: 65_536, resolution: 1 });
  const table = openTable("tiny memory", policy, { maxKeys: 10, whenFull });
  for (let nth = 0; nth < 20; nth++) expect(table.take(keyOf(nth), START + nth, 1)).toBe(admits);
  expect(table.stats().keys).toBe(0);
});

// What a table holds when its memory ends is then its bound.
describe.each([
  ["shared memory", 5000, 12_000],
  ["debug build", 5000, 12_000],
  ["small memory", 1_000_000, 200_000],
])("a full table of many pages: %s", (name, maxKeys, keys) => {
  test.each(Object.keys(policies))("holds no more keys than it may, and those exactly: %s", (which) => {
    const policy = policies[which] as Policy;
    const table = openTable(name, policy, { maxKeys });
    const model = new Model(policy);
    const random = randomIntegers(7);
    let now = START;
    let denied = 0;
    const operations = name === "debug build" ? 60_000 : 300_000;
    for (let done = 0; done < operations; done++) {
      if (random(50) === 0) now += random(name === "small memory" ? 3 : 100);
      const key = keyOf(random(keys));
      const cost = 1 + random(10);
      const before = table.stats();
      const answer = table.decide(key, now, cost, true);
      const after = table.stats();
      expect(after.keys).toBeLessThanOrEqual(maxKeys);
      if (after.deniedNew > before.deniedNew) {
        // Only if it was full, and only to a key that it did not hold.
        if (name !== "small memory") expect(before.keys).toBe(maxKeys);
        else expect(before.bytes).toBe(2 ** 21);
        expect(model.isLive(key, now)).toBe(false);
        denied += 1;
      } else {
        expect(answer).toEqual(model.decide(key, now, cost, true));
      }
    }
    expect(denied).toBeGreaterThan(operations / 100);
    expect(table.stats()).toMatchObject({ deniedNew: denied, evicted: 0 });
  });
});
