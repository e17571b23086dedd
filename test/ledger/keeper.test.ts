import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { instantiate } from "../../ts/core/instantiate.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";
import type { Durability, LedgerReply, LedgerRequest } from "../../ts/ledger/messages.ts";
import { FakeAmbient, seeded, settle } from "../support/fake-ambient.ts";
import { type Disk, faultyStore } from "../support/faulty-store.ts";

const LIMIT = 60;
const DAY = 86_400_000;
const spec = { kind: "fixedWindow", limit: LIMIT, window: 400 * DAY } as const;

/** A ledger host over a disk that outlives it, killed and started again by the test. */
class Host {
  readonly disk: Disk = new Map();
  readonly ambient: FakeAmbient;
  readonly #random: () => number;
  readonly #durability: Durability;
  readonly #faults: boolean;
  keeper: Keeper;
  #life = 0;

  constructor(seed: number, durability: Durability, faults: boolean) {
    this.#random = seeded(seed);
    this.ambient = new FakeAmbient(DAY, this.#random);
    this.#durability = durability;
    this.#faults = faults;
    this.keeper = this.restart();
  }

  restart(): Keeper {
    const life = ++this.#life;
    const isAlive = () => life === this.#life;
    const ifAlive = (callback: () => void) => () => {
      if (isAlive()) callback();
    };
    const fate = () => {
      const draw = this.#faults ? this.#random() : 1;
      const afterMs = this.#random() < 0.5 ? 0 : Math.ceil(this.#random() * 20);
      return { end: draw < 0.1 ? "lost" : draw < 0.2 ? "doubtful" : "stored", afterMs } as const;
    };
    this.keeper = new Keeper({
      store: faultyStore(this.disk, fate, this.ambient.schedule, isAlive),
      durability: this.#durability,
      now: this.ambient.now,
      soon: (callback) => this.ambient.schedule(0, ifAlive(callback)),
      later: (ms, callback) => this.ambient.schedule(ms, ifAlive(callback)),
      instantiate,
    });
    return this.keeper;
  }
}

interface Run {
  acknowledged: number;
  inDoubt: number;
  crashes: number;
  /** What the ledger says is left, after everything was stored. */
  left: number;
  problems: string[];
}

/** Takes from a few holders with retries, crashes and failing writes; nothing refills. */
async function run(seed: number, durability: Durability, faults: boolean): Promise<Run> {
  const host = new Host(seed, durability, faults);
  const random = seeded(seed + 1);
  const result: Run = { acknowledged: 0, inDoubt: 0, crashes: 0, left: 0, problems: [] };
  const open: Promise<void>[] = [];
  for (let nth = 1; nth <= 40; nth++) {
    const cost = 1 + Math.floor(random() * 3);
    const request: LedgerRequest = { v: 1, holder: `h${nth}`, seq: nth, policies: [spec], ops: [0, cost] };
    let first: LedgerReply | null = null;
    const attempt = async (keeper: Keeper) => {
      const reply = await keeper.ask("key", request).catch(() => null);
      if (!reply || keeper !== host.keeper) return;
      // A refusal isn't stored: whoever asks again may be admitted by then.
      if (first?.outcomes[0] === 1 && decidedIn(first) !== decidedIn(reply)) {
        result.problems.push(`retry ${nth} differs`);
      }
      if (first?.outcomes[0] !== 1 && reply.outcomes[0] === 1) result.acknowledged += cost;
      if (first?.outcomes[0] !== 1) first = reply;
    };
    open.push(attempt(host.keeper));
    if (random() < 0.3) open.push(attempt(host.keeper));
    await host.ambient.pass(Math.floor(random() * 15));
    if (random() < 0.1) {
      result.crashes++;
      host.restart();
    }
    // Strict alone promises the same answer after a crash.
    if (durability.mode === "strict" && random() < 0.3) open.push(attempt(host.keeper));
    if (!first) result.inDoubt += cost;
  }
  await host.ambient.pass(1000);
  result.crashes++;
  host.restart();
  const look: LedgerRequest = { v: 1, holder: "looker", seq: 1, policies: [spec], ops: [1, 1] };
  for (let tries = 0; tries < 50; tries++) {
    const looking = host.keeper.ask("key", look).catch(() => null);
    await host.ambient.pass(100);
    const reply = await looking;
    if (!reply) continue;
    result.left = reply.outcomes[1] as number;
    return result;
  }
  result.problems.push("never recovered");
  return result;
}

describe("a host that crashes and whose disk fails", () => {
  test("strict: nothing acknowledged is lost, a retry has the same answer, the limit holds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const { acknowledged, left, problems } = await run(seed, { mode: "strict" }, true);
        expect(problems).toEqual([]);
        expect(acknowledged).toBeLessThanOrEqual(LIMIT);
        expect(left).toBeLessThanOrEqual(LIMIT - acknowledged);
      }),
      { numRuns: 300 },
    );
  });

  test("reserve: nothing acknowledged is lost, and a crash costs no more than the chunk", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 20 }), async (seed, chunk) => {
        const { acknowledged, inDoubt, crashes, left, problems } = await run(seed, { mode: "reserve", chunk }, false);
        expect(problems).toEqual([]);
        expect(acknowledged).toBeLessThanOrEqual(LIMIT);
        expect(left).toBeLessThanOrEqual(LIMIT - acknowledged);
        expect(left).toBeGreaterThanOrEqual(LIMIT - acknowledged - inDoubt - crashes * chunk);
      }),
      { numRuns: 300 },
    );
  });

  test("reserve: nothing acknowledged is lost when writes fail, either", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const { acknowledged, left } = await run(seed, { mode: "reserve", chunk: 7 }, true);
        expect(left).toBeLessThanOrEqual(LIMIT - acknowledged);
      }),
      { numRuns: 300 },
    );
  });

  test("lazy: a crash forgets what was acknowledged since the last commit, and so can go above", async () => {
    let worst = 0;
    for (let seed = 0; seed < 100; seed++) {
      const { acknowledged, crashes, left } = await run(seed, { mode: "lazy", everyMs: 40 }, false);
      // A fixed window's envelope over the time between two commits is its limit.
      expect(acknowledged).toBeLessThanOrEqual(LIMIT * (1 + crashes));
      worst = Math.max(worst, acknowledged + left - LIMIT);
    }
    expect(worst).toBeGreaterThan(0);
  });
});

describe("a commit", () => {
  const request = (seq: number, ops: number[]): LedgerRequest => ({ v: 1, holder: "h", seq, policies: [spec], ops });

  function hostWith(
    ends: ("stored" | "lost" | "doubtful")[],
    afterMs: number,
    durability: Durability = { mode: "strict" },
  ) {
    const ambient = new FakeAmbient(DAY);
    const disk: Disk = new Map();
    const fate = () => ({ end: ends.shift() ?? "stored", afterMs }) as const;
    const keeper = new Keeper({
      store: faultyStore(disk, fate, ambient.schedule, () => true),
      durability,
      now: ambient.now,
      soon: (callback) => ambient.schedule(0, callback),
      later: (ms, callback) => ambient.schedule(ms, callback),
      instantiate,
    });
    const ask = async (seq: number, ops: number[]) => {
      const asked = keeper.ask("key", request(seq, ops)).then(
        (reply) => reply.outcomes.slice(0, 2),
        (error) => error.code,
      );
      await ambient.pass(100);
      return asked;
    };
    return { ambient, disk, keeper, ask };
  }

  for (const afterMs of [0, 10]) {
    test(`that fails takes back what it was to store, after ${afterMs} ms`, async () => {
      const { ask } = hostWith(["stored", "lost", "doubtful", "stored"], afterMs);
      expect(await ask(1, [0, 10])).toEqual([1, 50]);
      expect(await ask(2, [0, 10])).toBe("storage");
      expect(await ask(3, [1, 1])).toEqual([1, 50]);
      expect(await ask(4, [0, 5])).toBe("storage");
      // Stored after all: the retry has its answer and is charged once.
      expect(await ask(4, [0, 5])).toEqual([1, 45]);
      expect(await ask(5, [0, 5])).toEqual([1, 40]);
    });
  }

  for (const durability of [{ mode: "strict" }, { mode: "reserve", chunk: 1 }] as Durability[]) {
    test(`holds back every answer that was decided on top of it: ${durability.mode}`, async () => {
      const { ambient, keeper } = hostWith(["lost"], 50, durability);
      const answers: string[] = [];
      const ask = (name: string, seq: number, ops: number[]) =>
        keeper.ask("key", request(seq, ops)).then(
          () => answers.push(`${name} answered`),
          () => answers.push(`${name} failed`),
        );
      void ask("take", 1, [0, 60]);
      await ambient.pass(10);
      void ask("refused take", 2, [0, 1]);
      void ask("peek", 3, [1, 1]);
      await ambient.pass(10);
      expect(answers).toEqual([]);
      await ambient.pass(100);
      expect(answers.sort()).toEqual(["peek failed", "refused take failed", "take failed"]);
    });
  }

  test("that fails behind lazy answers is made up for before any other answer leaves", async () => {
    const { ask, ambient, disk } = hostWith(["lost", "lost", "stored"], 0, { mode: "lazy", everyMs: 200 });
    expect(await ask(1, [0, 10])).toEqual([1, 50]);
    await ambient.pass(300);
    expect(disk.size).toBe(0);
    expect(await ask(2, [0, 1])).toBe("storage");
    expect(await ask(3, [0, 1])).toEqual([1, 48]);
    expect(disk.size).toBe(1);
  });

  test("of several keys in one tick is one write", async () => {
    const ambient = new FakeAmbient(DAY);
    const writes: number[] = [];
    const store = memoryStore();
    const keeper = new Keeper({
      store: { ...store, write: (changes) => void writes.push(changes.length) },
      durability: { mode: "strict" },
      now: ambient.now,
      soon: (callback) => ambient.schedule(0, callback),
      later: () => {},
      instantiate,
    });
    for (let key = 0; key < 50; key++) void keeper.ask(`key${key}`, request(1, [0, 1]));
    await ambient.pass(1);
    expect(writes).toEqual([50]);
  });
});

describe("what is kept in memory", () => {
  const hostOver = (keysMax: number, ambient: FakeAmbient, durability: Durability) =>
    new Keeper({
      store: memoryStore(),
      durability,
      now: ambient.now,
      soon: (callback) => ambient.schedule(0, callback),
      later: (ms, callback) => ambient.schedule(ms, callback),
      instantiate,
      keysMax,
    });

  for (const durability of [
    { mode: "strict" },
    { mode: "reserve", chunk: 3 },
    { mode: "lazy", everyMs: 5 },
  ] as Durability[]) {
    test(`makes room for other keys without forgetting any: ${durability.mode}`, async () => {
      const ambient = new FakeAmbient(DAY);
      const keeper = hostOver(4, ambient, durability);
      const left = new Map<string, number>();
      const random = seeded(7);
      for (let seq = 1; seq <= 500; seq++) {
        const address = `key${Math.floor(random() * 20)}`;
        const asked = keeper.ask(address, { v: 1, holder: "h", seq, policies: [spec], ops: [0, 1] });
        await ambient.pass(1);
        const expected = (left.get(address) ?? LIMIT) - 1;
        expect((await asked).outcomes.slice(0, 2)).toEqual([1, expected]);
        left.set(address, expected);
      }
    });
  }

  test("is swept when a budget has long been whole", async () => {
    const ambient = new FakeAmbient(DAY);
    const store = memoryStore();
    const keeper = new Keeper({
      store,
      durability: { mode: "reserve", chunk: 5 },
      now: ambient.now,
      soon: (callback) => ambient.schedule(0, callback),
      later: (ms, callback) => ambient.schedule(ms, callback),
      instantiate,
    });
    const short = { kind: "slidingWindow", limit: 5, window: 1000, resolution: 1 } as const;
    const asked = keeper.ask("key", { v: 1, holder: "h", seq: 1, policies: [short], ops: [0, 5] });
    await ambient.pass(1);
    await asked;
    expect(store.read("key")?.state?.reserved).toBe(5);
    await ambient.pass(2000);
    const settling = keeper.sweep();
    await ambient.pass(1);
    await settling;
    expect(store.read("key")?.state?.reserved).toBeUndefined();
    await ambient.pass(700_000);
    await keeper.sweep();
    expect(store.read("key")).toBeNull();
    await settle();
  });
});

/** A reply but for the ledger's load, which is of the moment. */
function decidedIn({ load: _, ...decided }: LedgerReply): string {
  return JSON.stringify(decided);
}
