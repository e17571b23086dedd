import fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter } from "../../ts/cli/lines.ts";

/** Cut into chunks at the given places, and split; a too long line shows as "!" and its beginning. */
function split(bytes: Buffer, cuts: number[], lengthMax = 1000): string[] {
  const found: string[] = [];
  const take = (mark: string) => (line: Buffer, start: number, end: number, number: number) => {
    expect(number).toBe(found.length + 1);
    found.push(mark + line.toString("utf8", start, end));
  };
  const splitter = new LineSplitter(lengthMax, take(""), take("!"));
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let i = 1; i < places.length; i++) {
    // The chunk is only lent: what the splitter keeps of it must be its own.
    const chunk = Buffer.from(bytes.subarray(places[i - 1], places[i]));
    splitter.push(chunk);
    chunk.fill(0x0a);
  }
  splitter.end();
  return found;
}

// A byte order mark is one at the very beginning only.
const line = fc.stringMatching(/^[a-zé€ "\\\ufeff]{0,12}$/);
const ending = fc.constantFrom("\n", "\r\n");
const cuts = fc.array(fc.nat(300), { maxLength: 20, size: "max" });
/** Up to three times what the splitter is told to keep of one. */
const longLine = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 30, size: "max" });

test("lines come out as they went in, wherever the chunks are cut, with LF, CRLF, BOM, or no last end", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending)), line, fc.boolean(), cuts, (lines, last, bom, places) => {
      const text = (bom ? "\ufeff" : "") + lines.map(([body, end]) => body + end).join("") + last;
      const expected = lines.map(([body]) => body);
      fc.pre(bom || !text.startsWith("\ufeff"));
      // A byte order mark alone is a line too, an empty one.
      if (last !== "" || (bom && lines.length === 0)) expected.push(last);
      expect(split(Buffer.from(text), places)).toEqual(expected);
    }),
    { numRuns: 3000 },
  );
});

test("of a line that is too long only the beginning is kept, and the next one is whole again", () => {
  fc.assert(
    fc.property(fc.array(longLine), ending, cuts, (lines, end, places) => {
      const stored = lines.map((body) => body + end.slice(0, -1));
      const expected = stored.map((body, i) => (body.length > 10 ? `!${body.slice(0, 10)}` : (lines[i] as string)));
      expect(split(Buffer.from(stored.map((body) => `${body}\n`).join("")), places, 10)).toEqual(expected);
    }),
    { numRuns: 3000 },
  );
});
