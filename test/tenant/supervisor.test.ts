import { expect, test } from "vitest";
import { instantiate } from "../../ts/core/instantiate.ts";
import { fixedWindow, tokenBucket } from "../../ts/index.ts";
import { memoryChildren } from "../../ts/ledger/children.ts";
import { Keeper } from "../../ts/ledger/keeper.ts";
import { memoryStore } from "../../ts/ledger/memory-store.ts";
import type { Allotment, LedgerRequest, PlanRequest } from "../../ts/ledger/messages.ts";
import { Supervisor } from "../../ts/ledger/supervisor.ts";

const WINDOW = 60_000;

/** A supervisor whose time is set, and what it asked of its children. */
function supervised(start: number) {
  const time = { now: start };
  const host = { now: () => time.now, later: () => {}, soon: queueMicrotask, instantiate };
  const keeper = new Keeper({ ...host, store: memoryStore(), durability: { mode: "strict" } });
  const asked: { child: string; requests: number; allotment: Allotment }[] = [];
  const supervisor = new Supervisor({
    ...host,
    keeper,
    children: memoryChildren(host.now),
    askChild(_, child, requests, allotment, now) {
      asked.push({ child, requests: requests.length, allotment });
      return keeper.askChild(`child ${child}`, requests, allotment, now);
    },
  });
  return { time, supervisor, asked };
}

const policy = tokenBucket({ rate: 1, per: "1d", burst: 50 }).spec;
function requestOf(plan: PlanRequest["policies"], seq: number, more: Partial<LedgerRequest> = {}): LedgerRequest {
  const at = { address: "plan", child: "a", policies: plan, childrenMax: 10 };
  return { v: 1, holder: "h", seq, policies: [policy], ops: [], plan: at, ...more };
}
const sync = { used: 0, held: 0, later: 0, ask: 8, ttlMs: 5000 };

test("an endpoint's lease ends no later than its plan's window, whatever its own policy allows", async () => {
  const plan = [fixedWindow({ limit: 100, window: WINDOW }).spec];
  const { time, supervisor } = supervised(10 * WINDOW - 10_000);
  const early = await supervisor.ask(requestOf(plan, 1, { sync }));
  expect(early.lease).toMatchObject({ tokens: 8, ttlMs: 5000 });
  time.now = 10 * WINDOW - 1000;
  const late = await supervisor.ask(requestOf(plan, 2, { sync: { ...sync, held: 8 } }));
  expect(late.lease?.ttlMs).toBeGreaterThan(0);
  expect(late.lease?.ttlMs).toBeLessThan(1000);
  time.now = 10 * WINDOW - 10;
  const last = await supervisor.ask(requestOf(plan, 1, { holder: "other", sync }));
  expect(last.lease).toMatchObject({ tokens: 0, ttlMs: 0 });
  // What was leased is charged to the window that it was leased in, and to no other.
  time.now = 10 * WINDOW;
  const next = await supervisor.ask(requestOf(plan, 1, { holder: "third", ops: [1, 1] }));
  expect(next.outcomes[5]).toBe(100);
});

test("half of the plan is always left to the other endpoints", async () => {
  const plan = [tokenBucket({ rate: 1, per: "1d", burst: 30 }).spec];
  const { supervisor } = supervised(1e12);
  const first = await supervisor.ask(requestOf(plan, 1, { sync: { ...sync, ask: 50 } }));
  expect(first.lease?.tokens).toBe(15);
  const child = { address: "plan", child: "b", policies: plan, childrenMax: 10 };
  const other = await supervisor.ask(requestOf(plan, 1, { plan: child, sync: { ...sync, ask: 50 }, ops: [0, 15] }));
  expect(other.outcomes[0]).toBe(1);
  expect(other.lease?.tokens).toBe(0);
});

test("what waits for an endpoint travels in one call, each request answered for itself", async () => {
  const plan = [tokenBucket({ rate: 1, per: "1d", burst: 30 }).spec];
  const { supervisor, asked } = supervised(1e12);
  const holders = Array.from({ length: 40 }, (_, nth) => `h${nth}`);
  const replies = await Promise.all(
    holders.map((holder) => supervisor.ask(requestOf(plan, 1, { holder, ops: [0, 1] }))),
  );
  expect(asked.map(({ requests }) => requests)).toEqual([0, 40]);
  expect(asked[1]?.allotment.tokens).toBe(30);
  const admitted = replies.filter(({ outcomes }) => outcomes[0] === 1 && outcomes[4] === 1).length;
  expect(admitted).toBe(30);
});
