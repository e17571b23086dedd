import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LocalKey } from "../../ts/contract.ts";
import { DENY_NEW, FINGERPRINTS, FORMS, POLICY, TOKEN_BUCKET } from "../../ts/core/abi.ts";
import { KeyBytes } from "../../ts/core/key-bytes.ts";
import { tokenBucket } from "../../ts/index.ts";
import { cores } from "../support/cores.ts";
import { siphash } from "../support/siphash.ts";

const SEED = Uint8Array.from({ length: 16 }, (_, index) => index);
const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index & 255);
const littleEndian = (value: bigint) =>
  Array.from({ length: 8 }, (_, nth) => Number((value >> BigInt(8 * nth)) & 255n));

// From the reference implementation's list for SipHash-2-4: seed 00..0f, messages 00..(n - 1).
const PUBLISHED = [
  "310e0edd47db6f72",
  "fd67dc93c539f874",
  "5a4fa9d909806c0d",
  "2d7efbd796666785",
  "b7877127e09427cf",
  "8da699cd64557618",
  "cee3fe586e46c9cb",
  "37d1018bf50002ab",
  "6224939a79f5f593",
  "b0e4a90bdf82009e",
  "f3b9dd94c5bb5d7a",
  "a7ad6b22462fb3f4",
  "fbe50e86bc8f1e75",
  "903d84c02756ea14",
  "eef27a8e90ca23f7",
  "e545be4961ca29a1",
];

test("the tests' own SipHash gives the published hashes", () => {
  for (const [length, expected] of PUBLISHED.entries()) {
    const hash = littleEndian(siphash(2, 4, SEED, counting(length)));
    expect(Buffer.from(hash).toString("hex")).toBe(expected);
  }
});

/** What of a key is hashed, said independently of the code. */
function hashedBytes(key: LocalKey): Uint8Array {
  if (typeof key === "number") return Uint8Array.from([...new Uint8Array(Float64Array.of(key).buffer), 2]);
  if (key instanceof Uint8Array) return Uint8Array.from([...key, 3]);
  const text = typeof key === "string" ? key : key.map((part) => `${part.length}:${part}`).join("");
  const marked = typeof key === "string" && !text.startsWith("\0") ? text : `\0${text}`;
  const units = Array.from({ length: marked.length }, (_, index) => marked.charCodeAt(index));
  const bytes = new Uint8Array(2 * units.length + 1);
  if (units.every((unit) => unit < 256)) {
    bytes.set(units);
    return bytes.subarray(0, units.length + 1);
  }
  bytes.set(new Uint8Array(Uint16Array.from(units).buffer));
  bytes[2 * units.length] = 1;
  return bytes;
}

/** Makes a function that gives the core's fingerprint of a key: a batch leaves it in memory. */
function fingerprinter(name: string) {
  const core = (cores[name] as () => ReturnType<(typeof cores)[string]>)();
  new Float64Array(core.memory.buffer, core.callAt.value + POLICY).set(tokenBucket({ rate: 1 }).constants);
  core.openTable(TOKEN_BUCKET, 1, 100_000, DENY_NEW);
  const keys = new KeyBytes(core);
  keys.seed((bytes) => bytes.set(SEED));
  return (key: LocalKey) => {
    const view = new DataView(core.memory.buffer, core.callAt.value);
    view.setFloat64(FORMS, keys.write(key), true);
    core.decideBatch(1, 0, 0);
    return view.getBigUint64(FINGERPRINTS, true);
  };
}

const key = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 40 }) },
  { weight: 4, arbitrary: fc.string({ minLength: 1, maxLength: 40 }) },
  // Lone surrogates, and other characters of two bytes.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
  // Around what fits into one call.
  fc
    .tuple(
      fc.constantFrom("a", "ÿ", "ā", "\ud800"),
      fc.constantFrom(4096, 8192, 16384),
      fc.integer({ min: -9, max: 9 }),
    )
    .map(([char, length, more]) => char.repeat(length + more)),
  fc.array(fc.string({ maxLength: 9 }), { minLength: 1, maxLength: 3 }),
  fc.maxSafeInteger(),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
);

describe.each(Object.keys(cores))("keys reach the core: %s", (name) => {
  test("a key's fingerprint is the SipHash-1-3 of its bytes and tag", () => {
    const fingerprint = fingerprinter(name);
    fc.assert(
      fc.property(key, (key) => {
        expect(fingerprint(key)).toBe(siphash(1, 3, SEED, hashedBytes(key)));
      }),
      { numRuns: 2000 },
    );
  });

  test("every length from 1 to 600, and a megabyte", () => {
    const fingerprint = fingerprinter(name);
    for (let length = 1; length <= 600; length++) {
      const key = "x".repeat(length);
      expect(fingerprint(key)).toBe(siphash(1, 3, SEED, hashedBytes(key)));
    }
    for (const char of ["m", "\udfff"]) {
      const key = char.repeat(2 ** 20);
      expect(fingerprint(key)).toBe(siphash(1, 3, SEED, hashedBytes(key)));
      expect(fingerprint(`${key}n`)).not.toBe(fingerprint(key));
    }
  });

  test("keys that look alike have fingerprints of their own", () => {
    const fingerprint = fingerprinter(name);
    const alike: LocalKey[] = [
      "\ufffd",
      "\ud800",
      "\udc00",
      "\udfff",
      "\ud800\udc00",
      "\u00fd\u00ff",
      "\u00fd",
      "\u0000",
      ["a"],
      "\u00001:a",
      ["a", "a"],
      ["a1:a"],
      0,
      1,
      -1,
      "1",
      49,
      "\u0000\u0000\u0000\u0000\u0000\u0000\u00f0?",
      new Uint8Array(16),
      "\u0000".repeat(16),
      new Uint8Array(16).fill(49),
      "1".repeat(16),
      "ㄱ".repeat(8),
      "㄰",
    ];
    expect(new Set(alike.map(fingerprint)).size).toBe(alike.length);
    expect(fingerprint(-0)).toBe(fingerprint(0));
  });
});
