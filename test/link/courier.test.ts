import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LedgerReply, LedgerRequest, Ledgers } from "../../ts/ledger/messages.ts";
import { Courier } from "../../ts/link/courier.ts";
import { FakeAmbient, seeded, settle } from "../support/fake-ambient.ts";

const spec = { kind: "fixedWindow", limit: 10, window: 1000 } as const;

/** Outcomes that carry the op's amount, so that a test sees whose answer it got. */
function echo(request: LedgerRequest): LedgerReply {
  const outcomes: number[] = [];
  for (let at = 0; at < request.ops.length; at += 2) outcomes.push(1, request.ops[at + 1] as number, 0, 0);
  return { v: 1, outcomes };
}

function courierOver(ask: Ledgers["ask"], ambient: FakeAmbient, deadlineMs = 1000): Courier {
  const link: Ledgers = { durability: { mode: "strict" }, ask };
  return new Courier({
    link,
    ambient,
    holder: "holder",
    terms: { of: () => ({ policies: [], specs: [spec] }) },
    carry: "share",
    deadlineMs,
  });
}

const remainingOf = (delivery: { reply: LedgerReply; index: number } | null) =>
  delivery?.reply.outcomes[delivery.index * 4 + 1];

describe("calls on one key", () => {
  test("share a request while one is under way, in their order", async () => {
    const ambient = new FakeAmbient();
    const sent: number[][] = [];
    const courier = courierOver(async (_, request) => {
      sent.push(request.ops.filter((_, at) => at % 2 === 1));
      await new Promise<void>((resolve) => ambient.schedule(50, resolve));
      return echo(request);
    }, ambient);
    const calls = [1, 2, 3].map((amount) => courier.send("a", 0, amount));
    await settle();
    calls.push(...[4, 5].map((amount) => courier.send("a", 0, amount)));
    await ambient.pass(200);
    expect(sent).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect((await Promise.all(calls)).map(remainingOf)).toEqual([1, 2, 3, 4, 5]);
    expect(ambient.waiting).toBe(0);
  });

  for (const [what, answers, heard] of [
    ["have their answers", true, [1, 2, 3]],
    ["wait for them no longer than their deadline", false, [undefined, undefined, undefined]],
  ] as const) {
    test(`${what} when the way is closed`, async () => {
      const ambient = new FakeAmbient();
      const courier = courierOver(async (_, request) => {
        await new Promise<void>((resolve) => ambient.schedule(answers ? 50 : 1e9, resolve));
        return echo(request);
      }, ambient);
      const calls = [courier.send("a", 0, 1)];
      await settle();
      calls.push(courier.send("a", 0, 2), courier.send("b", 0, 3));
      let closed = false;
      const closing = courier.close().then(() => {
        closed = true;
      });
      await ambient.pass(answers ? 99 : 999);
      expect(closed).toBe(false);
      await ambient.pass(1);
      await closing;
      expect((await Promise.all(calls)).map(remainingOf)).toEqual(heard);
      if (answers) expect(ambient.waiting).toBe(0);
    });
  }

  test("have none of a link that throws, which is as one that rejects", async () => {
    const ambient = new FakeAmbient();
    const courier = courierOver(() => {
      throw new Error("the binding is gone");
    }, ambient);
    const call = courier.send("a", 0, 1);
    await ambient.pass(2000);
    expect(await call).toBeNull();
    expect(courier.lastErrorOf("a")).toMatchObject({ message: "the binding is gone" });
  });

  test("are turned away when too many wait, and counted", async () => {
    const ambient = new FakeAmbient();
    const courier = courierOver(() => new Promise(() => {}), ambient);
    const calls = Array.from({ length: 9000 }, () => courier.send("a", 0, 1));
    expect(calls.filter((call) => call === null).length).toBe(9000 - 8192);
    expect(courier.stats.shed).toBe(9000 - 8192);
    await ambient.pass(2000);
    expect(await Promise.all(calls)).toEqual(calls.map(() => null));
  });
});

describe("a ledger that is gone", () => {
  test("costs a few deadlines, then nothing but a probe now and then, and is found again", async () => {
    const ambient = new FakeAmbient();
    let asked = 0;
    let up = false;
    const courier = courierOver((_, request) => {
      asked++;
      return up ? Promise.resolve(echo(request)) : new Promise(() => {});
    }, ambient);
    for (let failure = 0; failure < 3; failure++) {
      const call = courier.send("a", 0, 1);
      await ambient.pass(1001);
      expect(await call).toBeNull();
    }
    // Each was sent again at half its time.
    expect(asked).toBe(6);
    expect(courier.blockedMs("a")).toBeGreaterThan(0);
    for (let call = 0; call < 1000; call++) expect(courier.send("a", 0, 1)).toBeNull();
    expect(asked).toBe(6);
    await ambient.pass(10_000);
    up = true;
    const probe = courier.send("a", 0, 7);
    expect(courier.send("a", 0, 8)).toBeInstanceOf(Promise);
    await ambient.pass(0);
    expect(remainingOf(await probe)).toBe(7);
    expect(courier.blockedMs("a")).toBe(0);
  });

  test("is found again within a deadline, however long it was gone", async () => {
    for (const refuses of [true, false]) {
      const ambient = new FakeAmbient();
      let asked = 0;
      let up = false;
      const courier = courierOver((_, request) => {
        asked++;
        if (up) return Promise.resolve(echo(request));
        return refuses ? Promise.reject(new Error("gone")) : new Promise(() => {});
      }, ambient);
      for (let ms = 0; ms < 60_000; ms += 20) {
        void courier.send("a", 0, 1);
        await ambient.pass(20);
      }
      expect(asked).toBeLessThan(1000);
      up = true;
      let waited = 0;
      for (; (await Promise.race([courier.send("a", 0, 1), settle()])) === null; waited += 20) await ambient.pass(20);
      expect(waited).toBeLessThanOrEqual(1000);
    }
  });

  test("does not stop the calls on other keys", async () => {
    const ambient = new FakeAmbient();
    const courier = courierOver(
      (address, request) => (address === "dead" ? Promise.reject(new Error("gone")) : Promise.resolve(echo(request))),
      ambient,
    );
    for (let round = 0; round < 20; round++) {
      const dead = courier.send("dead", 0, 1);
      await ambient.pass(5000);
      expect(await dead).toBeNull();
    }
    expect(remainingOf(await courier.send("alive", 0, 3))).toBe(3);
  });

  test("is held for gone on every key once three of them failed", async () => {
    const ambient = new FakeAmbient();
    const courier = courierOver(() => Promise.reject(new Error("gone")), ambient);
    for (const address of ["a", "b", "c"]) {
      const call = courier.send(address, 0, 1);
      // Retries 10, 20, 40 ... ms apart, while the deadline leaves room for the next.
      await ambient.pass(640);
      expect(await call).toBeNull();
    }
    expect(courier.send("d", 0, 1)).toBeNull();
  });

  // As in Workers, where what a request has begun, timers included, ends when it is cancelled.
  for (const dies of ["before it sends", "while it waits"]) {
    test(`does not hold up the others when a caller's request dies ${dies}`, async () => {
      const ambient = new FakeAmbient();
      let dead = false;
      const courier = courierOver(
        (_, request) => (dead ? new Promise(() => {}) : Promise.resolve(echo(request))),
        Object.assign(new FakeAmbient(), {
          monotonic: ambient.monotonic,
          schedule: (ms: number, callback: () => void) => (dead ? () => {} : ambient.schedule(ms, callback)),
        }),
      );
      dead = true;
      void courier.send("a", 0, 1);
      if (dies === "while it waits") await settle();
      dead = false;
      await ambient.pass(100);
      const behind = courier.send("a", 0, 2);
      await ambient.pass(600);
      expect(remainingOf(await behind)).toBe(2);
      expect(remainingOf(await courier.send("a", 0, 3))).toBe(3);
    });
  }
});

test("over any link, each call is settled once, in time and by its own answer", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const random = seeded(seed);
      const ambient = new FakeAmbient(0, random);
      const answered = new Set<number>();
      const done = new Set<number>();
      const seen = new Map<string, { seq: number; ops: string }>();
      const problems: string[] = [];
      const courier = courierOver(async (address, request) => {
        const before = seen.get(address);
        if (before && request.seq < before.seq) problems.push("a seq went back");
        if (before?.seq === request.seq && before.ops !== String(request.ops)) problems.push("a retry differs");
        seen.set(address, { seq: request.seq, ops: String(request.ops) });
        // When this turn's answers have been read:
        await settle();
        const abandoned = (ops: string) => ops.split(",").every((cell, at) => at % 2 === 0 || done.has(Number(cell)));
        if (before && before.seq < request.seq && !answered.has(before.seq) && !abandoned(before.ops)) {
          problems.push("two requests are under way for one key");
        }
        await new Promise<void>((resolve) => ambient.schedule(Math.floor(random() * 400), resolve));
        const fate = random();
        if (fate < 0.2 || fate >= 0.25) answered.add(request.seq);
        if (fate < 0.15) throw new Error("lost");
        if (fate < 0.2) return { v: 1, outcomes: [], error: { code: "storage", message: "full" } };
        if (fate < 0.25) await new Promise(() => {});
        return echo(request);
      }, ambient);
      const settled: Promise<void>[] = [];
      for (let call = 1; call <= 60; call++) {
        const sentAt = ambient.now();
        const delivery = courier.send(`key${Math.floor(random() * 3)}`, 0, call);
        settled.push(
          Promise.resolve(delivery).then((got) => {
            done.add(call);
            if (got && remainingOf(got) !== call) problems.push(`call ${call} got another's answer`);
            if (ambient.now() > sentAt + 1000) problems.push(`call ${call} waited ${ambient.now() - sentAt} ms`);
          }),
        );
        if (random() < 0.5) await ambient.pass(Math.floor(random() * 120));
      }
      await ambient.pass(5000);
      await Promise.all(settled);
      expect(problems).toEqual([]);
    }),
    { numRuns: 150 },
  );
});
