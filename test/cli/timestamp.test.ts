import fc from "fast-check";
import { expect, test } from "vitest";
import { anyTime, commonTime, TIME_END_MS } from "../../ts/cli/timestamp.ts";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value: number) => String(value).padStart(2, "0");

/** A time, and the offset in minutes of the clock that wrote it. */
const written = fc.record({
  // A day from both ends, so that the year stays 1970..2109 on every clock.
  time: fc.integer({ min: 86_400_000, max: TIME_END_MS - 86_400_000 }),
  offset: fc.integer({ min: -14 * 60, max: 14 * 60 }),
});

const local = (time: number, offset: number) => new Date(time + offset * 60_000);
const zone = (offset: number, colon: string) =>
  `${offset < 0 ? "-" : "+"}${two(Math.trunc(Math.abs(offset) / 60))}${colon}${two(Math.abs(offset) % 60)}`;

function common(time: number, offset: number): string {
  const date = local(time, offset);
  const day = `${two(date.getUTCDate())}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}`;
  return `${day}:${date.toISOString().slice(11, 19)} ${zone(offset, "")}`;
}

const wholeSeconds = (time: number) => Math.floor(time / 1000) * 1000;

test("the Common format's time, in any zone, is read as the time that was written", () => {
  fc.assert(
    fc.property(written, ({ time, offset }) => {
      const text = common(time, offset);
      expect(commonTime(Buffer.from(`[${text}]`), 1)).toBe(wholeSeconds(time));
      expect(commonTime(Buffer.from(text.toUpperCase()), 0)).toBe(wholeSeconds(time));
      expect(anyTime(text)).toBe(wholeSeconds(time));
    }),
    { numRuns: 2000 },
  );
});

test("ISO text, in any zone and with any fraction, is read as the time that was written", () => {
  fc.assert(
    fc.property(
      written,
      fc.constantFrom("T", " "),
      fc.constantFrom(":", ""),
      fc.stringMatching(/^\d{0,6}$/),
      ({ time, offset }, between, colon, more) => {
        const iso = local(time, offset).toISOString().slice(0, -1).replace("T", between);
        expect(anyTime(iso + more + zone(offset, colon))).toBe(time);
        expect(anyTime(`${iso.slice(0, 19)}${zone(offset, colon)}`)).toBe(wholeSeconds(time));
      },
    ),
    { numRuns: 2000 },
  );
});

test("text without a zone is UTC, and a day alone is its midnight", () => {
  expect(anyTime("2015-05-17T10:05:03Z")).toBe(1_431_857_103_000);
  expect(anyTime("2015-05-17 10:05:03,250")).toBe(1_431_857_103_250);
  expect(anyTime("2015-05-17")).toBe(Date.UTC(2015, 4, 17));
});

test("a number since the epoch is read in s, ms, µs or ns, as a number or as text", () => {
  // The rule by size holds from March 1973 on.
  fc.assert(
    fc.property(fc.integer({ min: 1e11, max: TIME_END_MS - 1 }), (time) => {
      for (const value of [time / 1000, time, time * 1000]) {
        expect(anyTime(value)).toBe(time);
        expect(anyTime(String(value))).toBe(time);
      }
      expect(Math.abs(anyTime(time * 1e6) - time)).toBeLessThanOrEqual(1);
    }),
    { numRuns: 2000 },
  );
});

test("days that no calendar has, and fields out of range, are no times", () => {
  for (const text of [
    "31/Feb/2015:10:05:03 +0000",
    "29/Feb/2015:10:05:03 +0000",
    "00/May/2015:10:05:03 +0000",
    "17/Mai/2015:10:05:03 +0000",
    "17/May/2015:24:05:03 +0000",
    "17/May/2015:10:60:03 +0000",
    "17/May/2015:10:05:61 +0000",
    "17/May/2015:10:05:03 +0060",
    "17/May/1969:10:05:03 +0000",
    "17/May/2110:10:05:03 +0000",
    "2015-13-01T00:00:00Z",
    "2015-05-17T10:05:03+99:00",
    "yesterday",
    "",
    "-1",
  ])
    expect(anyTime(text), text).toBeNaN();
  for (const value of [null, undefined, true, {}, [], -1, Number.NaN, Number.POSITIVE_INFINITY, 1e30])
    expect(anyTime(value)).toBeNaN();
  expect(anyTime("29/Feb/2016:10:05:03 +0000")).toBe(Date.UTC(2016, 1, 29, 10, 5, 3));
  expect(anyTime("30/Jun/2015:23:59:60 +0000"), "a leap second").toBe(Date.UTC(2015, 6, 1));
});

test("garbage never throws, and what comes of it is a whole ms in range or NaN", () => {
  const sound = (ms: number) => Number.isNaN(ms) || (Number.isInteger(ms) && ms >= 0 && ms < TIME_END_MS);
  fc.assert(
    fc.property(fc.anything(), fc.uint8Array({ maxLength: 40, size: "max" }), fc.nat(50), (value, bytes, at) => {
      expect(sound(anyTime(value))).toBe(true);
      expect(sound(commonTime(bytes, at))).toBe(true);
    }),
    { numRuns: 5000 },
  );
});

test("one wrong byte in a time never gives a time out of range", () => {
  fc.assert(
    fc.property(written, fc.nat(25), fc.nat(255), ({ time, offset }, at, byte) => {
      const bytes = Buffer.from(common(time, offset));
      bytes[at] = byte;
      const ms = commonTime(bytes, 0);
      expect(Number.isNaN(ms) || Number.isInteger(ms)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});
