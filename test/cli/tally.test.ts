import fc from "fast-check";
import { expect, test } from "vitest";
import { Tally } from "../../ts/cli/tally.ts";

test("counts and the list of the most denied are those of a plain count and a full sort", () => {
  const calls = fc.array(fc.tuple(fc.constantFrom(..."abcdefgh", "__proto__", "constructor"), fc.boolean()), {
    maxLength: 100,
    size: "max",
  });
  fc.assert(
    fc.property(calls, fc.nat(12), (list, limit) => {
      const tally = new Tally();
      const counts = new Map<string, { key: string; requests: number; denied: number }>();
      for (const [key, admitted] of list) {
        tally.count(tally.idOf(key), admitted);
        const entry = counts.get(key) ?? { key, requests: 0, denied: 0 };
        counts.set(key, entry);
        entry.requests++;
        if (!admitted) entry.denied++;
      }
      const denied = [...counts.values()].filter((entry) => entry.denied > 0);
      denied.sort((a, b) => b.denied - a.denied || b.requests - a.requests || (a.key < b.key ? -1 : 1));
      expect(tally.keys).toBe(counts.size);
      expect(tally.keysDenied).toBe(denied.length);
      expect(tally.top(limit)).toEqual(denied.slice(0, limit));
    }),
    { numRuns: 1000 },
  );
});

test("grows with the keys", () => {
  const tally = new Tally();
  for (let key = 0; key < 5000; key++) tally.count(tally.idOf(`key ${key}`), key % 2 === 0);
  for (let key = 0; key < 5000; key++) expect(tally.nameOf(tally.idOf(`key ${key}`))).toBe(`key ${key}`);
  expect(tally.keys).toBe(5000);
  expect(tally.keysDenied).toBe(2500);
});
