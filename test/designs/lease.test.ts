import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Ambient, Decision, Hold } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { limiterFor } from "../../ts/create-limiter.ts";
import { type LeaseOptions, lease } from "../../ts/designs/lease.ts";
import type { Link } from "../../ts/designs/link.ts";
import { overLedgers } from "../../ts/holders/over-ledgers.ts";
import { fixedWindow, tokenBucket } from "../../ts/index.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";
import type { Durability, LedgerRequest } from "../../ts/ledger/messages.ts";
import { FakeAmbient, seeded } from "../support/fake-ambient.ts";

const bucket = tokenBucket({ rate: 1, per: "1d", burst: 100 });

/** One ledger host, a few ms away, and holders of one limiter. */
class World {
  readonly ambient = new FakeAmbient(1_700_000_000_000, seeded(1));
  readonly requests: LedgerRequest[] = [];
  readonly #store = memoryStore();
  readonly #durability: Durability;
  #keeper: Keeper;
  cut = false;
  rttMs = 10;
  /** Work that is to outlive the request that began it, where requests end. */
  kept: Promise<unknown>[] | null = null;

  constructor(durability: Durability = { mode: "strict" }) {
    this.#durability = durability;
    this.#keeper = this.#start();
  }

  /** As after a kill: nothing is left but what was stored. */
  restart(): void {
    this.#keeper = this.#start();
  }

  limiter(
    options: LeaseOptions & { onUnreachable?: "deny" | "allow" } = {},
    policy = bucket,
    ambient: Ambient = this.ambient,
  ) {
    const { onUnreachable = "deny", ...rest } = options;
    const link: Link = {
      ...overLedgers,
      durability: this.#durability,
      ask: async (address, request) => {
        this.requests.push(request);
        await new Promise<void>((resolve) => this.ambient.schedule(this.rttMs, resolve));
        if (this.cut) throw new Error("cut");
        return this.#keeper.ask(address, request);
      },
    };
    const { kept } = this;
    if (kept) link.outlive = (work) => void kept.push(work);
    return limiterFor(ambient)({
      policy,
      name: "l",
      design: lease(rest),
      link,
      onUnreachable,
      deadline: 20 * this.rttMs,
    });
  }

  async decide(promise: Promise<{ success: boolean; source: string; remaining: number }>) {
    await this.ambient.pass(300);
    const { success, source, remaining } = await promise;
    return { success, source, remaining };
  }

  #start(): Keeper {
    return new Keeper({
      store: { ...this.#store, close: () => {} },
      durability: this.#durability,
      now: this.ambient.now,
      soon: (callback) => this.ambient.schedule(0, callback),
      later: () => {},
      instantiate,
    });
  }
}

describe("a holder", () => {
  test("asks once for all calls that come together, and answers the next ones alone", async () => {
    const world = new World();
    const limiter = world.limiter();
    const first = Array.from({ length: 20 }, () => limiter.limit("key"));
    await world.ambient.pass(50);
    expect((await Promise.all(first)).map(({ source }) => source)).toEqual(first.map(() => "ledger"));
    expect(world.requests.length).toBe(1);
    // No time passes: nobody was asked.
    expect(await limiter.limit("key", { cost: 3 })).toMatchObject({ success: true, source: "lease", reason: "ok" });
    expect(world.requests.length).toBe(1);
  });

  test("answers from a lease without a promise, and counts that as limit does", async () => {
    const world = new World();
    const limiter = world.limiter({ block: 50 });
    const asked = limiter.decide("key");
    expect(asked).toBeInstanceOf(Promise);
    for (let call = 0; call < 4; call++) await world.decide(limiter.limit("key"));
    const before = limiter.stats();
    const first = limiter.decide("key", { cost: 2 });
    expect(first).toMatchObject({ success: true, source: "lease", limit: 100, policy: "l", retryAfterMs: 0 });
    const second = (await limiter.limit("key", { cost: 3 })) as Decision;
    expect(second).toEqual({ ...first, remaining: (first as Decision).remaining - 3 });
    const { admitted, leased, held } = limiter.stats();
    expect([admitted, leased, held]).toEqual([
      (before.admitted ?? 0) + 2,
      (before.leased ?? 0) + 5,
      (before.held ?? 0) - 5,
    ]);
    expect(() => limiter.decide("key", { cost: 0 })).toThrow(RangeError);
    await expect(limiter.limit("key", { cost: 0 })).rejects.toThrow(RangeError);
  });

  test("has a call that costs more than it holds decided at the ledger", async () => {
    const world = new World();
    const limiter = world.limiter({ block: 10 });
    for (let call = 0; call < 3; call++) await world.decide(limiter.limit("key"));
    expect(await world.decide(limiter.limit("key", { cost: 40 }))).toMatchObject({ success: true, source: "ledger" });
    expect(await world.decide(limiter.limit("key", { cost: 2 }))).toMatchObject({ success: true, source: "lease" });
  });

  test("hands back what it holds when it is closed", async () => {
    const world = new World();
    const limiter = world.limiter({ block: 30 });
    for (let call = 0; call < 5; call++) await world.decide(limiter.limit("key"));
    expect(limiter.stats().held).toBeGreaterThan(0);
    const closing = limiter.close();
    await world.ambient.pass(300);
    await closing;
    const other = world.limiter();
    expect(await world.decide(other.limit("key"))).toEqual({ success: true, source: "ledger", remaining: 94 });
  });

  test("returns what nobody asks for any more, before it is forfeited", async () => {
    const world = new World();
    const limiter = world.limiter({ block: 30, ttl: "2s" });
    for (let call = 0; call < 5; call++) await world.decide(limiter.limit("key"));
    await world.ambient.pass(10_000);
    expect(limiter.stats().held).toBe(0);
    expect(await world.decide(world.limiter().limit("key"))).toEqual({
      success: true,
      source: "ledger",
      remaining: 94,
    });
    const asked = world.requests.length;
    await world.ambient.pass(100_000);
    expect(world.requests.length).toBe(asked);
    expect(world.ambient.waiting).toBe(0);
  });

  test("keeps a request at work until that is returned, and no longer than Workers let it", async () => {
    const world = new World();
    world.kept = [];
    const limiter = world.limiter({ block: 30 });
    for (let call = 0; call < 5; call++) await world.decide(limiter.limit("key"));
    await world.ambient.pass(22_000);
    expect(limiter.stats().held).toBe(0);
    expect(world.ambient.waiting).toBe(0);
    await Promise.all(world.kept);
    // The next call begins the rounds anew.
    await world.decide(limiter.limit("another key"));
    expect(world.ambient.waiting).toBe(1);
  });

  test("returns it with the calls on other keys where its timers die", async () => {
    const world = new World();
    const { now, monotonic, random, schedule } = world.ambient;
    const dying: Ambient = {
      ...{ now, monotonic, random },
      schedule: (ms, callback) => (ms === 250 ? () => {} : schedule(ms, callback)),
    };
    const limiter = world.limiter({ block: 30, ttl: "2s" }, bucket, dying);
    for (let call = 0; call < 5; call++) await world.decide(limiter.limit("key"));
    await world.ambient.pass(300);
    expect(limiter.stats().held).toBeGreaterThan(0);
    await world.decide(limiter.limit("another key"));
    await world.ambient.pass(300);
    await world.decide(limiter.limit("another key"));
    await world.ambient.pass(900);
    await world.decide(limiter.limit("another key"));
    await world.ambient.pass(3000);
    expect(await world.decide(world.limiter().limit("key"))).toEqual({
      success: true,
      source: "ledger",
      remaining: 94,
    });
  });

  test("counts what it spent before it forgot the key", async () => {
    const world = new World();
    const limiter = world.limiter({ block: 3, ttl: "5s" });
    const first = [limiter.limit("key"), limiter.limit("key")];
    await world.ambient.pass(20);
    await Promise.all(first);
    world.cut = true;
    for (let call = 0; call < 3; call++) expect(await limiter.limit("key")).toMatchObject({ source: "lease" });
    await world.ambient.pass(4800);
    world.cut = false;
    const last = [limiter.limit("key"), limiter.limit("key")];
    await world.ambient.pass(20);
    expect((await Promise.all(last)).map(({ source }) => source)).toEqual(["ledger", "ledger"]);
    const closing = limiter.close();
    await world.ambient.pass(300);
    await closing;
    expect(await world.decide(world.limiter().limit("key"))).toEqual({
      success: true,
      source: "ledger",
      remaining: 92,
    });
  });

  test("leases nothing for a key that is asked for now and then", async () => {
    const world = new World();
    const limiter = world.limiter();
    for (let call = 0; call < 4; call++) {
      await world.decide(limiter.limit("key"));
      await world.ambient.pass(20_000);
    }
    expect(world.requests.filter(({ sync }) => sync)).toEqual([]);
  });

  for (const onUnreachable of ["deny", "allow"] as const) {
    test(`serves from its lease through a cut, then does as it was told: ${onUnreachable}`, async () => {
      const world = new World();
      const limiter = world.limiter({ block: 30, ttl: "5s", onUnreachable });
      await Promise.all([1, 2, 3].map(() => world.decide(limiter.limit("key"))));
      world.cut = true;
      expect(await world.decide(limiter.limit("key"))).toMatchObject({ success: true, source: "lease" });
      await world.ambient.pass(5000);
      expect(await world.decide(limiter.limit("key"))).toMatchObject({
        success: onUnreachable === "allow",
        source: "fallback",
      });
      world.cut = false;
      await world.ambient.pass(20_000);
      expect(await world.decide(limiter.limit("key"))).toMatchObject({ success: true, source: "ledger" });
    });
  }

  test("takes no fixed window's tokens into the next one", async () => {
    const world = new World();
    const limiter = world.limiter({ block: 20, ttl: "5s" }, fixedWindow({ limit: 50, window: "10s" }));
    await world.ambient.pass(10_000 - (world.ambient.now() % 10_000) + 6000);
    await Promise.all([1, 2, 3, 4].map(() => world.decide(limiter.limit("key"))));
    expect(limiter.stats().held).toBeGreaterThan(0);
    world.cut = true;
    await world.ambient.pass(10_000 - (world.ambient.now() % 10_000) - 10);
    expect(limiter.stats().held).toBe(0);
  });
});

// While no message is lost, whatever a holder was granted is spent or comes back.
test("no token is lost, whoever stops asking and whenever, or closes the limiter", async () => {
  const call = fc.record({ key: fc.nat(2), cost: fc.integer({ min: 1, max: 3 }), gapMs: fc.nat(2500) });
  const calls = fc.array(call, { minLength: 1, maxLength: 20 });
  const blocks = fc.constantFrom(8, 30, "adaptive" as const);
  const ways = fc.constantFrom({ rttMs: 10, ttl: "2s" }, { rttMs: 10, ttl: 500 }, { rttMs: 200, ttl: 500 });
  await fc.assert(
    fc.asyncProperty(calls, blocks, ways, fc.boolean(), async (calls, block, { rttMs, ttl }, closes) => {
      const world = new World();
      world.rttMs = rttMs;
      const limiter = world.limiter({ block, ttl });
      const made: Promise<Decision>[] = [];
      for (const { key, cost, gapMs } of calls) {
        made.push(limiter.limit(`k${key}`, { cost }));
        await world.ambient.pass(gapMs);
      }
      const closing = closes ? limiter.close() : undefined;
      await world.ambient.pass(10_000);
      await closing;
      const decisions = await Promise.all(made);
      const costs = (key: number, count: (decision: Decision) => boolean) =>
        calls.reduce(
          (sum, call, nth) => sum + (call.key === key && count(decisions[nth] as Decision) ? call.cost : 0),
          0,
        );
      for (const key of [0, 1, 2]) {
        const peeked = world.limiter().peek(`k${key}`);
        await world.ambient.pass(2 * rttMs);
        const { remaining } = await peeked;
        expect(remaining).toBe(100 - costs(key, ({ success }) => success));
      }
    }),
    { numRuns: 300 },
  );
});

// What a holder keeps for the calls to come must not be kept from the one that is there.
test("a call that fits is admitted about as often as the budget allows, whatever it costs", async () => {
  const policy = tokenBucket({ rate: 100, per: "1s", burst: 100 });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constantFrom(55, 80, 90, 100), fc.integer({ min: 10, max: 100 })),
      fc.constantFrom("1s", "5s"),
      async (cost, ttl) => {
        const world = new World();
        const limiter = world.limiter({ ttl }, policy);
        const began = world.ambient.now();
        let spent = 0;
        while (world.ambient.now() < began + 60_000) {
          const made = limiter.limit("key", { cost });
          await world.ambient.pass(95);
          const { success, retryAfterMs } = await made;
          if (success) spent += cost;
          await world.ambient.pass(success ? 0 : (retryAfterMs as number));
        }
        const possible = 100 + 100 * 60;
        expect(spent).toBeGreaterThan(0.75 * possible);
        expect(spent).toBeLessThanOrEqual(possible + 100);
      },
    ),
    { numRuns: 60 },
  );
});

// What a lease says is left is the holder's, and no level of the budget.
test("what is given back of holds lets no more through than the policy, also where a lease answered", async () => {
  const policy = tokenBucket({ rate: 10, per: "1s", burst: 100 });
  const hold = fc.record({ estimate: fc.integer({ min: 1, max: 5 }), gapMs: fc.nat(100) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(hold, { minLength: 5, maxLength: 10 }),
      fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 6000, max: 12_000 })),
      fc.integer({ min: 5, max: 20 }),
      async (holds, pauseMs, calls) => {
        const world = new World();
        const limiter = world.limiter({ ttl: "5s" }, policy);
        const soon = async <T>(made: Promise<T>, ms = 60): Promise<T> => {
          await world.ambient.pass(ms);
          return made;
        };
        await soon(Promise.all(Array.from({ length: calls }, () => limiter.limit("key"))), 300);
        const open: Hold[] = [];
        for (const { estimate, gapMs } of holds) {
          open.push(await soon(limiter.reserve("key", estimate)));
          await world.ambient.pass(gapMs);
        }
        await world.ambient.pass(pauseMs);
        // From here on the holds count for nothing: what is admitted is no more than a bucket lets through.
        const began = world.ambient.now();
        let admitted = 0;
        const burst = async (count: number) => {
          const made = Array.from({ length: count }, () => limiter.limit("key"));
          const decisions = await soon(Promise.all(made), 100);
          admitted += decisions.filter(({ success }) => success).length;
        };
        await burst(150);
        for (const one of open) await soon(one.release());
        for (let round = 0; round < 60; round++) await burst(10);
        const held = holds.reduce((sum, { estimate }) => sum + estimate, 0);
        // The tokens of holds that were not yet refilled are theirs to give back.
        const owed = Math.max(held - Math.floor(pauseMs / 100), 0);
        expect(admitted).toBeLessThanOrEqual(100 + (world.ambient.now() - began) / 100 + owed + 1);
      },
    ),
    { numRuns: 100 },
  );
});

test("a clock that asks the limiter changes no answer of its own", async () => {
  const world = new World();
  let asks: (() => void) | undefined;
  const ask = () => {
    const asked = asks;
    asks = undefined;
    asked?.();
    return world.ambient.monotonic();
  };
  const ambient = Object.assign(Object.create(world.ambient), { now: ask, monotonic: ask });
  const limiter = world.limiter({ block: 30 }, bucket, ambient);
  for (const key of ["poor", "rich"]) {
    for (let call = 0; call < 5; call++) await world.decide(limiter.limit(key));
  }
  for (let call = 0; call < 10; call++) limiter.decide("poor");
  const { remaining } = limiter.decide("poor") as Decision;
  for (const after of [0, 1, 2, 3]) {
    let left = after;
    const later = () => {
      if (left-- > 0) asks = later;
      else limiter.decide("rich");
    };
    asks = later;
    expect(limiter.decide("poor")).toMatchObject({ success: true, source: "lease", remaining: remaining - 1 - after });
    asks = undefined;
  }
});

for (const durability of [
  { mode: "strict" },
  { mode: "reserve", chunk: 5 },
  { mode: "lazy", everyMs: 60_000 },
] as Durability[]) {
  test(`a ledger that crashes remembers its leases: ${durability.mode}`, async () => {
    const world = new World(durability);
    const limiter = world.limiter({ block: 30, ttl: "5s" });
    for (let call = 0; call < 5; call++) await world.decide(limiter.limit("key"));
    const { held } = limiter.stats();
    world.restart();
    const { remaining } = await world.decide(world.limiter().limit("key"));
    expect(held).toBeGreaterThan(10);
    expect(remaining).toBeLessThanOrEqual(94 - (held as number));
  });
}

test("lease() says what it takes", () => {
  expect(() => lease({ block: 0 })).toThrow("block must be an integer in 1..");
  expect(() => lease({ ttl: 100 })).toThrow("ttl must be a duration of 500 ms to 300000 ms in whole ms");
  expect(() => new World().limiter({ block: 101 })).toThrow("block must be an integer in 1..100; got 101");
  expect(new World().limiter({ block: 8 }).bounds({ pops: 5 })).toMatchObject({ overshoot: 0, stranded: 32 });
  expect(new World().limiter().bounds({ pops: 5 })).toMatchObject({ overshoot: 0, stranded: 50, stalenessMs: 5000 });
});
