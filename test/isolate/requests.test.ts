// In Workers, what one request has begun ends with it. Calls of many requests travel together all
// the same, so that one of them may die while it carries the others.
import { Miniflare } from "miniflare";
import { afterAll, expect, test } from "vitest";
// @ts-expect-error a script without types
import { bundleWorker } from "../../scripts/bundle-worker.mjs";
import type { Decision } from "../../ts/contract.ts";

const mf = new Miniflare({
  name: "worker",
  modules: await bundleWorker("test/isolate/worker.ts"),
  compatibilityDate: "2026-04-01",
  serviceBindings: { SELF: "worker" },
  durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
});
afterAll(() => mf.dispose());

test("requests of one isolate share round trips, and each has its own answer", async () => {
  const url = await mf.ready;
  const call = async (nth: number) => {
    const response = await fetch(new URL(`/plain?key=${nth % 4}`, url));
    return (await response.json()) as Decision & { requests: number };
  };
  for (let round = 0; round < 5; round++) {
    const decisions = await Promise.all(Array.from({ length: 100 }, (_, nth) => call(nth)));
    expect(decisions.filter(({ reason }) => reason !== "ok" && reason !== "limited")).toEqual([]);
    expect(decisions.filter(({ success }) => success).length).toBe(round === 0 ? 40 : 0);
    if (round > 0) continue;
    expect(Math.max(...decisions.map(({ requests }) => requests))).toBeLessThan(100);
    const left = decisions.filter(({ success }) => success).map(({ remaining }) => remaining);
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, nth) => nth >> 2));
  }
});

test("a request that is cancelled does not take the others' answers with it", async () => {
  const url = await mf.ready;
  const cancelled = fetch(new URL("/cancelled", url));
  const others = Array.from({ length: 15 }, async () => (await fetch(url)).json() as Promise<Decision>);
  expect(await (await cancelled).text()).toBe("cancelled");
  const decisions = await Promise.all(others);
  expect(decisions.filter(({ reason }) => reason === "unreachable")).toEqual([]);
  const admitted = decisions.filter(({ success }) => success).length;
  // The cancelled request's call may or may not have been charged.
  expect([9, 10]).toContain(admitted);
  expect(decisions.map(({ source }) => source)).toEqual(decisions.map(() => expect.stringMatching(/^ledger$|^cache$/)));
});
