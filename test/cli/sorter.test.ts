import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TimeSorter } from "../../ts/cli/sorter.ts";
import { TIME_END_MS } from "../../ts/cli/timestamp.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

type Pair = [time: number, id: number];

function sorted(pairs: Pair[], runLength: number): { found: Pair[]; runs: number } {
  const sorter = new TimeSorter(runLength, folder);
  const found: Pair[] = [];
  try {
    for (const [time, id] of pairs) sorter.add(time, id);
    sorter.drain((time, id) => found.push([time, id]));
    expect(readdirSync(folder), "the temporary file has no name").toEqual([]);
    return { found, runs: sorter.runsOnDisk };
  } finally {
    sorter.close();
  }
}

/** Array.prototype.sort keeps equal times in their order. */
const oracle = (pairs: Pair[]) => [...pairs].sort(([a], [b]) => a - b);

const time = fc.oneof(fc.nat(20), fc.integer({ min: 0, max: TIME_END_MS - 1 }), fc.constantFrom(0, TIME_END_MS - 1));
const pair: fc.Arbitrary<Pair> = fc.tuple(time, fc.oneof(fc.nat(5), fc.constant(2 ** 32 - 1)));

test("is a stable sort of everything, in one run or in many on disk", () => {
  fc.assert(
    fc.property(
      fc.array(pair, { maxLength: 200, size: "max" }),
      fc.integer({ min: 2, max: 250 }),
      (pairs, runLength) => {
        const { found, runs } = sorted(pairs, runLength);
        expect(found).toEqual(oracle(pairs));
        expect(runs).toBe(pairs.length > runLength ? Math.ceil(pairs.length / runLength) : 0);
      },
    ),
    { numRuns: 500 },
  );
});

test("runs longer than what is written and read at once", () => {
  let seed = 1;
  const pairs = Array.from({ length: 500_000 }, (_, id): Pair => {
    seed = (seed * 48_271) % 2_147_483_647;
    return [seed, id];
  });
  const { found, runs } = sorted(pairs, 150_000);
  expect(runs).toBe(4);
  expect(found.flat().join()).toBe(oracle(pairs).flat().join());
});

test("a folder that can't be written to is said, with the way out", () => {
  const sorter = new TimeSorter(2, join(folder, "missing"));
  sorter.add(1, 1);
  sorter.add(2, 2);
  expect(() => sorter.add(3, 3)).toThrow(/TMPDIR.*: no such file/);
});
