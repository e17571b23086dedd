import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { textOf } from "../../ts/cli/input.ts";

async function read(stored: Buffer, cuts: number[]): Promise<{ text: Buffer; bytesRead: number }> {
  const places = [0, ...cuts.map((cut) => cut % (stored.length + 1)).sort((a, b) => a - b), stored.length];
  const chunks = places.slice(1).map((place, i) => stored.subarray(places[i], place));
  const source = { name: "test", bytes: null, open: () => Readable.from(chunks) };
  let bytesRead = 0;
  const text: Buffer[] = [];
  for await (const chunk of textOf(source, (bytes) => (bytesRead += bytes))) text.push(chunk);
  return { text: Buffer.concat(text), bytesRead };
}

const cuts = fc.array(fc.nat(500), { maxLength: 20, size: "max" });
const bytes = fc.uint8Array({ maxLength: 200, size: "max" }).map((array) => Buffer.from(array));

test("gzip members in a row, cut anywhere, are one text", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 3 }), cuts, async (parts, places) => {
      const stored = Buffer.concat(parts.map((part) => gzipSync(part)));
      expect(await read(stored, [1, ...places])).toEqual({ text: Buffer.concat(parts), bytesRead: stored.length });
    }),
    { numRuns: 200 },
  );
});

test("anything else is its own text, be it empty or one byte of gzip's mark", async () => {
  const plain = fc.oneof(bytes, fc.constantFrom(Buffer.alloc(0), Buffer.from([0x1f]), Buffer.from([0x1f, 0x8c])));
  await fc.assert(
    fc.asyncProperty(plain, cuts, async (text, places) => {
      fc.pre(!(text[0] === 0x1f && text[1] === 0x8b));
      expect(await read(text, places)).toEqual({ text, bytesRead: text.length });
    }),
    { numRuns: 200 },
  );
});
