import { describe, expect, test } from "vitest";
import { Shards } from "../../ts/core/shards.ts";
import { cores } from "../support/cores.ts";

const KEYS = Array.from({ length: 60_000 }, (_, nth) => `tenant:${nth}`);

/** The chi-square of what each shard got, as standard deviations above its mean: about normal. */
function excess(counts: number[]): number {
  const expected = KEYS.length / counts.length;
  const chi2 = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  const degrees = counts.length - 1;
  return (chi2 - degrees) / Math.sqrt(2 * degrees);
}

describe("sharding", () => {
  const shards = new Shards(cores["shared memory"]?.() as ReturnType<(typeof cores)[string]>);

  test.each([2, 3, 7, 16, 100, 1000])("spreads keys evenly over %i shards", (count) => {
    const counts = new Array<number>(count).fill(0);
    for (const key of KEYS) {
      const shard = shards.of(key, count);
      counts[shard] = (counts[shard] ?? Number.NaN) + 1;
    }
    expect(excess(counts)).toBeLessThan(4);
    expect(excess(counts)).toBeGreaterThan(-4);
  });

  test.each([1, 2, 7, 16, 99])("from %i shards to one more, only the new one gets keys, and its share", (count) => {
    let moved = 0;
    for (const key of KEYS) {
      const before = shards.of(key, count);
      const after = shards.of(key, count + 1);
      if (before === after) continue;
      expect(after).toBe(count);
      moved += 1;
    }
    const share = 1 / (count + 1);
    const deviation = Math.sqrt(KEYS.length * share * (1 - share));
    expect(Math.abs(moved - KEYS.length * share)).toBeLessThan(4 * deviation);
  });

  test("is the same in every instance, whatever its memory", () => {
    const others = Object.values(cores).map((core) => new Shards(core()));
    for (const key of ["a", "ключ", 42, new Uint8Array(16), ...KEYS.slice(0, 100)]) {
      for (const other of others) expect(other.of(key, 64)).toBe(shards.of(key, 64));
    }
  });
});
