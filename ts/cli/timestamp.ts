// The ways in which logs write the time, all to whole epoch ms.

/** Times from 1970 up to here, in the year 2109, are taken: 42 bits, as the sorter packs them. */
export const TIME_END_MS = 2 ** 42;

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH_OF = new Map(MONTHS.map((name, index) => [code3(Buffer.from(name), 0), index]));

/** Bytes of "17/May/2015:10:05:03 +0000". */
export const COMMON_TIME_BYTES = 26;

/** Three letters as one number, in lower case. */
function code3(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number) | 0x202020;
}

/** The number in `count` digits; NaN where one is none. */
function digits(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) {
    const digit = (bytes[i] as number) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

const SLASH = 0x2f;
const COLON = 0x3a;
const SPACE = 0x20;
const PLUS = 0x2b;
const MINUS = 0x2d;

/** Epoch ms of the Common format's time at `at`, or NaN. It's on the path of every line, hence bytes. */
export function commonTime(bytes: Uint8Array, at: number): number {
  const sign = bytes[at + 21];
  if (bytes[at + 2] !== SLASH || bytes[at + 6] !== SLASH || bytes[at + 11] !== COLON || bytes[at + 14] !== COLON)
    return Number.NaN;
  if (bytes[at + 17] !== COLON || bytes[at + 20] !== SPACE || (sign !== PLUS && sign !== MINUS)) return Number.NaN;
  const month = MONTH_OF.get(code3(bytes, at + 3));
  if (month === undefined) return Number.NaN;
  const offset = offsetMinutes(digits(bytes, at + 22, 2), digits(bytes, at + 24, 2));
  return epochMs(
    digits(bytes, at + 7, 4),
    month,
    digits(bytes, at, 2),
    digits(bytes, at + 12, 2),
    digits(bytes, at + 15, 2),
    digits(bytes, at + 18, 2),
    sign === PLUS ? offset : -offset,
  );
}

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?: ?(Z|UTC|([+-])(\d\d):?(\d\d)?))?)?$/i;

/** Epoch ms of ISO 8601 or RFC 3339 text, or NaN. Without an offset it is taken as UTC. */
function isoTime(text: string): number {
  const match = ISO.exec(text);
  if (!match) return Number.NaN;
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = "0", , sign, offsetH = 0, offsetM = 0] =
    match;
  const offset = offsetMinutes(+offsetH, +offsetM);
  const whole = epochMs(
    +(year ?? 0),
    +(month ?? 0) - 1,
    +(day ?? 0),
    +hour,
    +minute,
    +second,
    sign === "-" ? -offset : offset,
  );
  return whole + Number(fraction.slice(0, 3).padEnd(3, "0"));
}

/** Epoch ms of a number since the epoch, whose unit shows in its size: s, ms, µs or ns. */
function numericTime(value: number): number {
  const ms = value < 1e11 ? value * 1000 : value < 1e14 ? value : value < 1e17 ? value / 1e3 : value / 1e6;
  // 1431857103.123 × 1000 falls just short of the ms that was written.
  return inRange(Math.floor(ms + 1e-3));
}

/** Epoch ms of a JSON field: a number, ISO text, a number as text, or the Common format's text. NaN: no time. */
export function anyTime(value: unknown): number {
  if (typeof value === "number") return numericTime(value);
  if (typeof value !== "string") return Number.NaN;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return numericTime(Number(text));
  if (text.length === COMMON_TIME_BYTES && text.charCodeAt(2) === SLASH) return commonTime(Buffer.from(text), 0);
  return isoTime(text);
}

function offsetMinutes(hours: number, minutes: number): number {
  return hours <= 15 && minutes <= 59 ? hours * 60 + minutes : Number.NaN;
}

/** NaN in any part, or a part out of its range, gives NaN. A leap second is the next minute's first. */
function epochMs(year: number, month: number, day: number, h: number, min: number, s: number, offset: number): number {
  if (!(day >= 1 && day <= daysIn(year, month) && h <= 23 && min <= 59 && s <= 60)) return Number.NaN;
  return inRange(Date.UTC(year, month, day, h, min, s) - offset * 60_000);
}

function daysIn(year: number, month: number): number {
  if (month === 1) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  if (month === 3 || month === 5 || month === 8 || month === 10) return 30;
  return month >= 0 && month <= 11 ? 31 : 0;
}

function inRange(ms: number): number {
  return ms >= 0 && ms < TIME_END_MS ? ms : Number.NaN;
}
