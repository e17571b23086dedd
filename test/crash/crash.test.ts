import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { CHUNK, LIMIT } from "./budgets.ts";
import { type Start, startProcess, startWorkerd } from "./host.ts";
import { type Crash, judge, type Tally, type Verdict } from "./judge.ts";

const ROUNDS = 20;
const SEED = 1;

/** Tokens whose admit was acknowledged, and that the ledger has again after the crash. */
const forgotten = ({ told, left }: Crash) => Math.max(left - told, 0);
/** Tokens that the ledger has charged, and that nobody was told of. */
const missing = ({ told, left }: Crash) => Math.max(told - left, 0);
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

/** What strict promises: a list of the crashes in which it was broken. */
function brokenIn({ crashes }: Tally): Crash[] {
  return crashes.filter((crash) => forgotten(crash) > 0 || missing(crash) > crash.unanswered);
}

const HOSTS: [string, () => Start | Promise<Start>][] = [
  ["Node with SQLite", () => startProcess("node")],
  ["Bun with SQLite", () => startProcess("bun")],
  ["Deno with SQLite", () => startProcess("deno")],
  ["a Durable Object in workerd", () => startWorkerd],
];

test("a file belongs to its process until that is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-crash-"));
  const host = await (await startProcess("node"))(folder);
  await fetch(new URL("take?budget=strict", host.url));
  const path = join(folder, "strict.db");
  expect(() => embedded({ path })).toThrow(/strict\.db is in use by another process/);
  await host.kill();
  await embedded({ path }).close();
  rmSync(folder, { recursive: true });
});

describe.each(HOSTS)(`%s, killed in mid-load ${ROUNDS} times (seed ${SEED})`, (_, startOf) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-crash-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let verdict: Verdict;
  beforeAll(async () => {
    verdict = await judge({ start: await startOf(), folder, rounds: ROUNDS, seed: SEED });
  }, 600_000);

  test("it was killed with calls under way, and did nothing strange", () => {
    const { taken, asked } = verdict;
    for (const { strange, crashes } of Object.values(taken)) {
      expect(strange).toEqual([]);
      expect(crashes).toHaveLength(ROUNDS);
      expect(sum(crashes.map(({ acknowledged }) => acknowledged))).toBeGreaterThan(ROUNDS);
      expect(sum(crashes.map(({ unanswered }) => unanswered))).toBeGreaterThan(0);
    }
    for (const { strange } of Object.values(asked)) expect(strange).toEqual([]);
  });

  test("strict: loses no acknowledged admit, and charges for no more than was under way", () => {
    const { strict } = verdict.taken;
    expect(brokenIn(strict)).toEqual([]);
    expect(strict.acknowledged).toBeLessThanOrEqual(LIMIT);
  });

  test("strict: what is repeated after a crash has the same answer, and is charged once", () => {
    const { strict } = verdict.asked;
    expect(strict.retried).toBeGreaterThan(0);
    expect(strict.replayed).toBeGreaterThan(0);
    expect(strict.changed).toBe(0);
    expect(strict.doubled).toBe(0);
    expect(strict.charged).toBe(strict.answered);
  });

  test("reserve: never admits too much, and forfeits at most its chunk a crash", () => {
    const { acknowledged, crashes } = verdict.taken.reserve;
    expect(crashes.map(forgotten)).toEqual(crashes.map(() => 0));
    expect(crashes.filter((crash) => missing(crash) > crash.unanswered + CHUNK)).toEqual([]);
    expect(acknowledged).toBeLessThanOrEqual(LIMIT);
    expect(acknowledged).toBeGreaterThanOrEqual(LIMIT - sum(crashes.map((crash) => CHUNK + crash.unanswered)));
  });

  test("lazy: forgets what was not written, and no more", () => {
    const { acknowledged, crashes } = verdict.taken.lazy;
    expect(crashes.map(({ left }) => left)).toEqual(crashes.map(() => LIMIT));
    expect(acknowledged).toBe(LIMIT + sum(crashes.map((crash) => crash.acknowledged)));
  });

  test("a ledger that answers before it commits is found out", () => {
    expect(brokenIn(verdict.taken.hasty).length).toBeGreaterThan(0);
  });

  test("a ledger that forgets who asked is found out", () => {
    const { changed, charged, answered } = verdict.asked.forgetful;
    expect(changed).toBeGreaterThan(0);
    expect(charged).toBeGreaterThan(answered);
  });
});
