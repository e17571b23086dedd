import { describe, expect, test } from "vitest";
import type { Decision, Limiter } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { type LimiterOptions, limiterFor } from "../../ts/create-limiter.ts";
import { overLedgers } from "../../ts/holders/over-ledgers.ts";
import { lease, optimistic, strict, tokenBucket } from "../../ts/index.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";
import type { LedgerReply } from "../../ts/ledger/messages.ts";
import { SILENT_MS_MAX } from "../../ts/ledger/rights.ts";
import { Alone } from "../../ts/link/alone.ts";
import { Shares } from "../../ts/link/share.ts";
import { FakeAmbient, seeded } from "../support/fake-ambient.ts";

const POPS = 4;
const policy = tokenBucket({ rate: 100, burst: 80 });

/** A ledger 10 ms away, whose answers can be made to stay away for ever. */
class World {
  readonly ambient = new FakeAmbient(1_700_000_000_000, seeded(1));
  readonly #keeper: Keeper;
  cut = false;

  constructor() {
    this.#keeper = new Keeper({
      store: memoryStore(),
      durability: strict(),
      now: () => this.ambient.now(),
      soon: (callback) => queueMicrotask(callback),
      later: (ms, callback) => void this.ambient.schedule(ms, callback),
      instantiate,
    });
  }

  limiter(options: Partial<LimiterOptions> = {}): Limiter {
    return limiterFor(this.ambient)({
      policy,
      design: optimistic({ every: 100, blind: 500 }),
      link: {
        ...overLedgers,
        durability: strict(),
        ask: async (address, request) => {
          if (this.cut) return new Promise<LedgerReply>(() => {});
          await new Promise<void>((resolve) => this.ambient.schedule(10, resolve));
          return this.#keeper.ask(address, request);
        },
      },
      onUnreachable: "deny",
      pops: POPS,
      deadline: 200,
      ...options,
    });
  }

  /** The answer, which needs some time to pass. */
  async first(limiter: Limiter, key = "k"): Promise<Decision> {
    const decision = limiter.limit(key);
    await this.ambient.pass(50);
    return decision;
  }
}

/** The answer, if it waits for nothing: no timer, and no link. */
async function atOnce(promise: Promise<Decision>): Promise<Decision> {
  let decision: Decision | undefined;
  promise.then((value) => {
    decision = value;
  });
  for (let turn = 0; turn < 5; turn++) await null;
  if (!decision) throw new Error("the decision waits for something");
  return decision;
}

describe("optimistic", () => {
  test("never waits for the ledger once it has answered for a key, whatever becomes of it", async () => {
    const world = new World();
    const limiter = world.limiter();
    expect(await world.first(limiter)).toMatchObject({ success: true, source: "ledger" });
    const sources = new Set<string>();
    for (let call = 0; call < 3000; call++) {
      if (call % 10 === 0) world.cut = call % 1000 >= 300;
      const { source, reason } = await atOnce(limiter.limit("k"));
      sources.add(`${source} ${reason}`);
      await world.ambient.pass(1);
    }
    expect([...sources].sort()).toEqual(["cache limited", "cache unreachable", "lease ok", "overdraft ok"]);
  });

  test("overdraws what the others' part yields while it is blind, and then no more", async () => {
    const world = new World();
    const limiter = world.limiter();
    await world.first(limiter);
    world.cut = true;
    let overdrawn = 0;
    for (let ms = 0; ms < 5000; ms++) {
      await world.ambient.pass(1);
      if ((await atOnce(limiter.limit("k"))).source === "overdraft") overdrawn++;
    }
    // 3/4 of 100 tokens a second, for half a second.
    expect(overdrawn).toBe(Math.floor(0.75 * 100 * 0.5));
    expect(POPS * overdrawn).toBeLessThanOrEqual(limiter.bounds().overshoot);
  });

  test("tells the ledger as often as it says, and sooner if much was admitted", async () => {
    const requests = async (maxUnsynced: number) => {
      const world = new World();
      const limiter = world.limiter({ design: optimistic({ every: 400, blind: 500, maxUnsynced, overdraft: 0 }) });
      await world.first(limiter);
      const before = limiter.stats().requests as number;
      for (let call = 0; call < 60; call++) {
        await atOnce(limiter.limit("k"));
        await world.ambient.pass(20);
      }
      return (limiter.stats().requests as number) - before;
    };
    expect(await requests(2)).toBeGreaterThan(2 * (await requests(1000)));
  });

  test("says when a refused call may come again, and refuses for ever what never fits", async () => {
    const world = new World();
    const limiter = world.limiter();
    await world.first(limiter);
    world.cut = true;
    while ((await atOnce(limiter.limit("k"))).success) await world.ambient.pass(0);
    const { retryAfterMs } = await atOnce(limiter.limit("k"));
    await world.ambient.pass(retryAfterMs as number);
    expect(await atOnce(limiter.limit("k"))).toMatchObject({ success: true, source: "overdraft" });
    expect(await atOnce(limiter.limit("k", { cost: 81 }))).toMatchObject({ retryAfterMs: null });
  });
});

for (const [name, design] of Object.entries({ lease: lease({ ttl: 500 }), optimistic: optimistic({ blind: 1000 }) })) {
  test(`${name}: a PoP that is cut off admits its share`, async () => {
    const world = new World();
    const limiter = world.limiter({ design, onUnreachable: "share" });
    await world.first(limiter);
    for (let call = 0; call < 20; call++) await world.first(limiter);
    world.cut = true;
    let shared = 0;
    const seconds = 20;
    for (let step = 0; step < seconds * 50; step++) {
      limiter.limit("k").then(({ source }) => {
        if (source === "share") shared++;
      });
      await world.ambient.pass(20);
    }
    // Two ttls, or a second, pass before; and its clock may be wrong.
    const most = ((seconds - 1) * 100) / POPS;
    expect(shared).toBeLessThanOrEqual(most);
    expect(shared).toBeGreaterThan(0.9 * most);
  });
}

test("optimistic fails open, if it is told to, once it has been blind for long", async () => {
  const world = new World();
  const limiter = world.limiter({ onUnreachable: "allow" });
  await world.first(limiter);
  world.cut = true;
  while ((await atOnce(limiter.limit("k"))).success) await world.ambient.pass(0);
  await world.ambient.pass(600);
  while ((await atOnce(limiter.limit("k"))).source !== "fallback") await world.ambient.pass(0);
  expect(await atOnce(limiter.limit("k"))).toMatchObject({ success: true, reason: "unreachable" });
});

test("rights end a while after the last answer, before the ledger can have ended them", () => {
  const shares = new Shares([policy], POPS, instantiate);
  const alone = new Alone({ pops: POPS, blindMs: 1000, overdraftPerMs: 0.1, shares }, 0);
  alone.arrived(alone.request(0, true) as never, 0, 5, 30);
  const last = 5 + SILENT_MS_MAX - 1;
  expect([alone.overdraw(1, last), alone.takeShare(1, last), alone.isDue(last)]).toEqual([true, true, true]);
  expect([alone.overdraw(1, last + 1), alone.takeShare(1, last + 1), alone.isIdle(last + 1)]).toEqual([
    false,
    false,
    true,
  ]);
});

describe("what is missing or wrong is said", () => {
  const make = (options: Partial<LimiterOptions>) => () => new World().limiter(options);
  const wrong: [Partial<LimiterOptions>, string][] = [
    [
      { pops: undefined as never },
      "pops must be the number of PoPs that may share a key: design optimistic() needs it",
    ],
    [{ pops: 0 }, "pops must be an integer in 1.."],
    [{ onUnreachable: "share", pops: 41 }, 'pops must be so few that each has a share: onUnreachable "share" needs'],
  ];
  for (const [options, message] of wrong) test(message, () => expect(make(options)).toThrow(message));
  for (const [options, message] of [
    [{ overdraft: 1.5 }, "overdraft must be a number from 0 to 1; got 1.5"],
    [{ every: "2s", blind: "1s" }, "every must be at most blind, 1000 ms; got 2000"],
    [{ blind: 100 }, "blind must be a duration of 500 ms to 300000 ms in whole ms"],
    [{ maxUnsynced: 0 }, "maxUnsynced must be an integer in 1.."],
    [{ evry: 3 } as never, "evry"],
  ] as const) {
    test(message, () => expect(() => optimistic(options)).toThrow(message));
  }
});

test("a hot spot that moves is followed within six syncs", async () => {
  const world = new World();
  const design = optimistic({ every: 100, blind: 500 });
  const pops = Array.from({ length: POPS }, () => world.limiter({ design }));
  for (const pop of pops) await world.first(pop);
  const heldBy = (nth: number) => pops[nth]?.stats().held as number;
  /** Asks one PoP for less than the limit, so that nothing else stands in the way. */
  const ask = async (nth: number, ms: number) => {
    for (let step = 0; step < ms / 20; step++) {
      pops[nth]?.limit("k");
      await world.ambient.pass(20);
    }
  };
  await ask(0, 3000);
  for (let nth = 1; nth < POPS; nth++) {
    const usual = heldBy(nth - 1);
    expect(usual).toBeGreaterThan(0);
    const before = pops[nth]?.stats().requests as number;
    for (let wait = 0; wait < 50 && heldBy(nth) < usual / 2; wait++) await ask(nth, 20);
    expect((pops[nth]?.stats().requests as number) - before).toBeLessThanOrEqual(6);
    await ask(nth, 3000);
    expect(heldBy(nth - 1)).toBe(0);
  }
});
