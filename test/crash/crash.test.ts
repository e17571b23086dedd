import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judge, type Tally, type Verdict } from "./judge.ts";

const ROUNDS = 20;
const LIMIT = 1000;
const CHUNK = 5;

/** Whether nothing that was acknowledged is lost: only then does the limit hold over all rounds. */
const keptAll = ({ acknowledged }: Tally) => acknowledged <= LIMIT;

for (const [name, script] of [
  ["Node with SQLite", "./serve-node.mjs"],
  ["a Durable Object in workerd", "./serve-workerd.mjs"],
] as const) {
  describe(`${name}, killed in mid-load ${ROUNDS} times`, () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-crash-"));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    let verdict: Verdict;
    beforeAll(async () => {
      verdict = await judge(script, folder, ROUNDS, 1);
    }, 600_000);

    test("ran as it should", () => {
      for (const tally of Object.values(verdict.tallies)) {
        expect(tally.strange).toEqual([]);
        expect(tally.acknowledgedBeforeKills).toBeGreaterThan(ROUNDS);
        expect(tally.unanswered).toBeGreaterThan(0);
      }
    });

    test("strict: loses no acknowledged admit, and stores no more than was asked for", () => {
      const { strict } = verdict.tallies as { strict: Tally };
      expect(keptAll(strict)).toBe(true);
      expect(strict.acknowledged + strict.unanswered).toBeGreaterThanOrEqual(LIMIT);
    });

    test("strict: a request repeated after the crash has the same answer, and is charged once", () => {
      expect(verdict.changedReplies).toBe(0);
      expect(verdict.left).toBe(LIMIT - 3 * (ROUNDS + 1));
    });

    test("reserve: never admits too much, and forfeits at most its chunk a crash", () => {
      const { reserve } = verdict.tallies as { reserve: Tally };
      expect(keptAll(reserve)).toBe(true);
      expect(reserve.acknowledged + reserve.unanswered + ROUNDS * CHUNK).toBeGreaterThanOrEqual(LIMIT);
    });

    test("lazy: forgets what was not written, and no more; the same check catches that", () => {
      const { lazy } = verdict.tallies as { lazy: Tally };
      expect(keptAll(lazy)).toBe(false);
      expect(lazy.acknowledged).toBeLessThanOrEqual(LIMIT + lazy.acknowledgedBeforeKills);
    });
  });
}
