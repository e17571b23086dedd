import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PolicySpec } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";
import {
  type LeaseReply,
  type LeaseRequest,
  type LedgerReply,
  type LedgerRequest,
  PEEK,
  REFUND,
  TAKE,
} from "../../ts/ledger/messages.ts";
import { Hold } from "../../ts/link/lease-hold.ts";
import { Middle } from "../../ts/middle/middle.ts";
import { FakeAmbient, seeded } from "../support/fake-ambient.ts";

const bucket: PolicySpec = { kind: "tokenBucket", rate: 1, per: 86_400_000, burst: 100 };

/** A ledger, 10 ms away from a middle ledger that can be cut off from it. */
class World {
  readonly ambient = new FakeAmbient(1_700_000_000_000, seeded(1));
  /** Requests that reached home. */
  atHome = 0;
  cut = false;
  middle: Middle;
  readonly #keeper: Keeper;
  #seq = 0;

  constructor() {
    this.#keeper = new Keeper({
      store: memoryStore(),
      durability: { mode: "strict" },
      now: this.ambient.now,
      soon: (callback) => this.ambient.schedule(0, callback),
      later: () => {},
      instantiate,
    });
    this.middle = this.start();
  }

  start(): Middle {
    const home = {
      durability: { mode: "strict" as const },
      ask: async (address: string, request: LedgerRequest) => {
        await new Promise<void>((resolve) => this.ambient.schedule(10, resolve));
        if (this.cut) throw new Error("cut");
        this.atHome++;
        return this.#keeper.ask(address, request);
      },
    };
    return new Middle({ home, ambient: this.ambient, deadlineMs: 200 });
  }

  async ask(holder: string, ops: number[], sync?: Partial<LeaseRequest>, seq = ++this.#seq): Promise<LedgerReply> {
    const request: LedgerRequest = { v: 1, holder, seq, policies: [bucket], ops };
    if (sync) request.sync = { used: 0, held: 0, later: 0, ask: 0, ttlMs: 1000, ...sync };
    const asked = this.middle.ask("key", request);
    asked.catch(() => {});
    await this.ambient.pass(300);
    return asked;
  }

  /** What home has left for others. */
  async left(): Promise<number> {
    const policies = [bucket];
    const request = { v: 1 as const, holder: "looker", seq: ++this.#seq, policies, ops: [PEEK, 1] };
    const asked = this.#keeper.ask("key", request);
    await this.ambient.pass(1);
    return (await asked).outcomes[1] as number;
  }
}

describe("a middle ledger", () => {
  test("answers out of what it holds, and asks home when it has too little", async () => {
    const world = new World();
    expect((await world.ask("a", Array(10).fill([TAKE, 1]).flat())).outcomes.slice(0, 3)).toEqual([1, 99, 0]);
    const asked = world.atHome;
    expect((await world.ask("b", [TAKE, 1])).outcomes[0]).toBe(1);
    expect(world.atHome).toBe(asked);
    expect((await world.ask("b", [TAKE, 60])).outcomes[0]).toBe(1);
    expect((await world.ask("b", [TAKE, 60])).outcomes[0]).toBe(0);
    // Home has said so: it needn't say it again.
    const refused = world.atHome;
    expect((await world.ask("a", [TAKE, 60])).outcomes[0]).toBe(0);
    expect(world.atHome).toBe(refused);
  });

  test("leases no longer than it holds", async () => {
    const world = new World();
    const { lease } = await world.ask("a", [TAKE, 1, TAKE, 1, TAKE, 1], { ask: 10, ttlMs: 5000 });
    expect(lease?.tokens).toBeGreaterThan(0);
    expect(lease?.ttlMs).toBeLessThan(5000);
  });

  test("counts what a silent holder had as used, at home too", async () => {
    const world = new World();
    const { lease } = await world.ask("a", [TAKE, 1, TAKE, 1], { ask: 10 });
    const tokens = lease?.tokens as number;
    expect(tokens).toBeGreaterThan(0);
    await world.ambient.pass(20_000);
    expect(await world.left()).toBe(98 - tokens);
  });

  test("loses no token while no message is lost, whoever stops asking and whenever, or closes it", async () => {
    const gapMs = fc.oneof(fc.nat(30), fc.nat(3000), fc.integer({ min: 60_000, max: 63_000 }));
    const call = fc.record({ ops: fc.integer({ min: 1, max: 5 }), gapMs });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 15 }), fc.boolean(), async (calls, closes) => {
        const world = new World();
        const asked: Promise<LedgerReply>[] = [];
        for (const [nth, { ops, gapMs }] of calls.entries()) {
          const request = { v: 1 as const, seq: 1, policies: [bucket], ops: Array(ops).fill([TAKE, 1]).flat() };
          asked.push(world.middle.ask("key", { ...request, holder: `h${nth}` }));
          await world.ambient.pass(gapMs);
        }
        const closing = closes ? world.middle.close() : undefined;
        await world.ambient.pass(100_000);
        await closing;
        const outcomes = (await Promise.all(asked)).flatMap((reply) => reply.outcomes);
        const used = outcomes.filter((cell, at) => at % 4 === 0 && cell === 1).length;
        expect(await world.left()).toBe(100 - used);
      }),
    );
  });

  test("gives back at home what nobody asks for any more", async () => {
    const world = new World();
    await world.ask("a", Array(10).fill([TAKE, 1]).flat());
    await world.ambient.pass(20_000);
    expect(await world.left()).toBe(90);
  });

  test("gives back what it holds when it is closed", async () => {
    const world = new World();
    await world.ask("a", Array(10).fill([TAKE, 1]).flat());
    expect(await world.left()).toBeLessThan(90);
    const closing = world.middle.close();
    await world.ambient.pass(100);
    await closing;
    expect(await world.left()).toBe(90);
  });

  test("answers a retry as before, also while it waits for home, and refuses what was superseded", async () => {
    const world = new World();
    const [first, again] = await Promise.all([
      world.ask("a", [TAKE, 3], undefined, 7),
      world.ask("a", [TAKE, 3], undefined, 7),
    ]);
    expect(again).toEqual(first);
    expect(await world.ask("a", [TAKE, 3], undefined, 7)).toEqual(first);
    expect((await world.ask("b", [PEEK, 90])).outcomes[1]).toBe(97);
    await expect(world.ask("a", [TAKE, 3], undefined, 6)).rejects.toThrow("superseded");
  });

  test("says when it can't reach home, and goes on with a retry where it ended", async () => {
    const world = new World();
    await world.ask("a", Array(10).fill([TAKE, 1]).flat());
    world.cut = true;
    await expect(world.ask("a", [TAKE, 1, TAKE, 50], undefined, 90)).rejects.toThrow("no answer from home");
    expect((await world.ask("b", [TAKE, 1])).outcomes[0]).toBe(1);
    world.cut = false;
    expect((await world.ask("a", [TAKE, 1, TAKE, 50], undefined, 90)).outcomes.filter((_, at) => at % 4 === 0)).toEqual(
      [1, 1],
    );
  });

  test.each([55, 80, 100])(
    "admits a call of %d as often as the budget allows, though it holds a part of it",
    async (cost) => {
      const world = new World();
      const policies: PolicySpec[] = [{ kind: "tokenBucket", rate: 100, per: 1000, burst: 100 }];
      const began = world.ambient.now();
      let spent = 0;
      for (let seq = 0; world.ambient.now() < began + 60_000; seq++) {
        const asked = world.middle.ask("key", { v: 1, holder: "a", seq, policies, ops: [TAKE, cost] });
        await world.ambient.pass(95);
        const [admitted, , retryAfterMs] = (await asked).outcomes as [number, number, number];
        if (admitted) spent += cost;
        await world.ambient.pass(retryAfterMs);
      }
      expect(spent).toBeGreaterThan(0.75 * 6100);
      expect(spent).toBeLessThanOrEqual(6200);
    },
  );

  test("has refunds made at home", async () => {
    const world = new World();
    await world.ask("a", [TAKE, 40]);
    await world.ask("a", [REFUND, 30]);
    await world.ambient.pass(20_000);
    expect(await world.left()).toBe(90);
  });

  test("refuses what makes no sense, before anything is taken", async () => {
    const world = new World();
    await expect(world.ask("a", [TAKE, 1, 9, 1])).rejects.toThrow("op kind must be 0..3; got 9");
    await expect(world.ask("a", [TAKE, 0.5])).rejects.toThrow("positive integer; got 0.5");
    expect(world.atHome).toBe(0);
  });
});

test("a holder doesn't spend what a new middle ledger grants for as long as the old one's lasted", () => {
  const hold = new Hold({ ttlMs: 5000, block: undefined }, 0);
  const request: LeaseRequest = { used: 0, held: 0, later: 0, ask: 10, ttlMs: 5000 };
  const reply: LeaseReply = { tokens: 10, ttlMs: 5000, later: 0, startsInMs: 0, resetMs: 0, since: 1 };
  hold.arrived(request, reply, 0, 10);
  hold.arrived(request, { ...reply, ttlMs: 100 }, 20, 30);
  expect(hold.end).toBe(5000);
  hold.arrived(request, { ...reply, ttlMs: 100, since: 3 }, 40, 50);
  expect(hold.end).toBe(140);
});
