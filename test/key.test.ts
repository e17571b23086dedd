import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeKey } from "../ts/key.ts";

// Few characters, and those that mean something in the encoding, so that near misses are common.
const text = fc.string({ unit: fc.constantFrom("\0", ":", "1", "2", "a", "\ud800", "é"), maxLength: 6 });
const key = fc.oneof(
  text.filter((part) => part !== ""),
  fc.array(text, { minLength: 1, maxLength: 4 }),
);

test("no two keys share a string", () => {
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(fc.array(key, { minLength: 50, maxLength: 50 }), (keys) => {
      for (const one of keys) {
        const plain = JSON.stringify(one);
        const encoded = encodeKey(one);
        expect(seen.get(encoded) ?? plain).toBe(plain);
        seen.set(encoded, plain);
      }
    }),
    { numRuns: 1000 },
  );
  expect(seen.size).toBeGreaterThan(10_000);
});

test("a plain string stands for itself", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (one) => {
      fc.pre(one[0] !== "\0");
      expect(encodeKey(one)).toBe(one);
    }),
  );
});

test("anything but a non-empty string or array of strings is refused", () => {
  for (const bad of ["", [], 5, null, undefined, {}, true, new Uint8Array(2)]) {
    expect(() => encodeKey(bad as never), String(bad)).toThrow(RangeError);
    expect(() => encodeKey(bad as never)).toThrow(/^key must be a non-empty string, or a non-empty array of strings/);
  }
  for (const bad of [[5], ["a", null], [["a"]], ["a", undefined]]) {
    expect(() => encodeKey(bad as never)).toThrow(/^each part of a key must be a string; got/);
  }
});
