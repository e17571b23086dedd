// Kills the tenant's process in mid-load. What it acknowledged must be charged to the endpoint, and
// whatever is charged to an endpoint must be charged to the plan.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Decision } from "../../ts/contract.ts";
import { type Host, type Start, startScript } from "../crash/host.ts";
import { seeded } from "../support/fake-ambient.ts";
import { bundleWith, type Mistake } from "../support/mutant.ts";
import { ENDPOINTS, OWN, PLAN } from "./crash-served.ts";

const ROUNDS = 10;
const CALLERS = 4;

const folders: string[] = [];
const running = new Set<Host>();
afterAll(async () => {
  for (const host of running) await host.kill();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** What was seen of one crash: tokens, over all endpoints. */
interface Crash {
  /** Of each endpoint in all: what callers were told, and what its ledger has charged. */
  endpoints: { acknowledged: number; unanswered: number; charged: number }[];
  unanswered: number;
  planCharged: number;
}

async function get(host: Host, what: "take" | "left", endpoint: string): Promise<Decision> {
  return (await (await fetch(new URL(`${what}?endpoint=${endpoint}`, host.url))).json()) as Decision;
}

async function judge(start: Start, rounds: number): Promise<{ crashes: Crash[]; strange: unknown[] }> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-tenant-crash-"));
  folders.push(folder);
  const random = seeded(11);
  const tallies = ENDPOINTS.map(() => ({ acknowledged: 0, unanswered: 0 }));
  const crashes: Crash[] = [];
  const strange: unknown[] = [];
  for (let round = 0; round <= rounds; round++) {
    const host = await start(folder);
    running.add(host);
    if (round > 0) crashes.push(await look(host, tallies));
    if (round < rounds) await killInLoad(host, tallies, strange, 20 + Math.floor(random() * 60), 6 * random());
    else await host.kill();
    running.delete(host);
  }
  return { crashes, strange };
}

/** What is charged after a crash, once every endpoint was asked. */
async function look(host: Host, tallies: { acknowledged: number; unanswered: number }[]): Promise<Crash> {
  const left: Decision[] = [];
  for (const endpoint of ENDPOINTS) left.push(await get(host, "left", endpoint));
  return {
    endpoints: tallies.map((tally, nth) => ({ ...tally, charged: OWN - (left[nth]?.each?.[0]?.remaining ?? 0) })),
    unanswered: tallies.reduce((sum, { unanswered }) => sum + unanswered, 0),
    planCharged: PLAN - (left.at(-1)?.each?.[1]?.remaining ?? 0),
  };
}

async function killInLoad(
  host: Host,
  tallies: { acknowledged: number; unanswered: number }[],
  strange: unknown[],
  admits: number,
  delayMs: number,
): Promise<void> {
  let killing = false;
  let killed = Promise.resolve();
  const kill = () => {
    if (killing) return;
    killing = true;
    killed = host.kill();
  };
  let left = admits;
  const callers = tallies.flatMap((tally, nth) =>
    Array.from({ length: CALLERS }, async () => {
      while (!killing) {
        try {
          const { success, reason } = await get(host, "take", ENDPOINTS[nth] as string);
          if (success) tally.acknowledged++;
          else if (reason !== "limited" && reason !== "plan_cap") strange.push(reason);
          if (!success) return;
          if (--left === 0) setTimeout(kill, delayMs);
        } catch (error) {
          if (killing) tally.unanswered++;
          else strange.push(error);
          return;
        }
      }
    }),
  );
  await Promise.all(callers);
  kill();
  await killed;
}

const charged = ({ endpoints }: Crash) => endpoints.reduce((sum, one) => sum + one.charged, 0);
/** Crashes after which an endpoint has tokens charged that the plan has not. */
const brokenIn = (crashes: Crash[]) => crashes.filter((crash) => crash.planCharged < charged(crash));

const UNSTORED: Mistake = { file: "ts/ledger/plan.ts", right: "now, result, given > 0)", wrong: "now, result, false)" };
const UNTOLD: Mistake = { file: "ts/ledger/plan.ts", right: "run.book(Math.max(used, 0));", wrong: "" };
const nodeWith = async (...mistakes: Mistake[]) =>
  startScript(await bundleWith("test/tenant/crash-node.ts", ...mistakes));

const HOSTS: [string, () => Promise<Start>][] = [
  ["facets in workerd", async () => startScript("test/tenant/crash-workerd.mjs")],
  ["plain ledgers in Node with SQLite", () => nodeWith()],
];

describe.each(HOSTS)(`%s, killed in mid-load ${ROUNDS} times`, (_, startOf) => {
  test("lose no acknowledged admit, and charge the plan for whatever an endpoint was charged", async () => {
    const { crashes, strange } = await judge(await startOf(), ROUNDS);
    expect(strange).toEqual([]);
    expect(crashes).toHaveLength(ROUNDS);
    expect(crashes.at(-1)?.unanswered).toBeGreaterThan(0);
    expect(brokenIn(crashes)).toEqual([]);
    for (const crash of crashes) {
      for (const { acknowledged, unanswered, charged } of crash.endpoints) {
        expect(charged).toBeGreaterThanOrEqual(acknowledged);
        expect(charged).toBeLessThanOrEqual(acknowledged + unanswered);
      }
      // What was under way may stay charged to the plan alone.
      expect(crash.planCharged).toBeLessThanOrEqual(charged(crash) + crash.unanswered);
    }
    expect(charged(crashes.at(-1) as Crash)).toBeGreaterThan(20 * ROUNDS);
  }, 600_000);
});

test("a plan that is stored behind the endpoints, and does not ask them after a crash, is found out", async () => {
  const { crashes } = await judge(await nodeWith(UNSTORED, UNTOLD), ROUNDS);
  expect(brokenIn(crashes).length).toBeGreaterThan(0);
}, 600_000);
