// One line of an access log to the two things that a policy asks: who, and when.
import { anyTime, COMMON_TIME_BYTES, commonTime } from "./timestamp.ts";

/** Fields in which JSON lines are looked at for the time, unless --time names one. */
export const TIME_FIELDS = ["time", "timestamp", "@timestamp", "ts"];

export interface Fields {
  /** "ip": the first field of Common and Combined; of JSON lines, the field of this name. */
  key: string;
  /** Of JSON lines: the fields to try, in order. */
  time: readonly string[];
}

export interface Request {
  key: string;
  /** Epoch ms. */
  time: number;
}

const SPACE = 0x20;
const TAB = 0x09;
const QUOTE = 0x22;
const BRACE = 0x7b;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** The request in bytes start..end; a string that says why there is none; null for a blank line. */
export function readRequest(bytes: Buffer, start: number, end: number, fields: Fields): Request | string | null {
  let at = start;
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  if (at === end) return null;
  return bytes[at] === BRACE ? readJson(bytes.toString("utf8", at, end), fields) : readCommon(bytes, at, end, fields);
}

/**
 * Common and Combined: `host ident user [time] "request" ...`.
 *
 * Nothing behind the request's opening quote is looked at, so that no odd request or user agent
 * can do harm. A user's name may hold blanks and brackets, but never a bare quote: the first
 * time with `] "` behind it is the server's.
 */
function readCommon(bytes: Buffer, start: number, end: number, fields: Fields): Request | string {
  let hostEnd = start;
  let all = 0;
  while (hostEnd < end && bytes[hostEnd] !== SPACE) all |= bytes[hostEnd++] as number;
  for (let at = hostEnd + 1; at + COMMON_TIME_BYTES + 3 < end; at++) {
    if (bytes[at] !== OPEN || bytes[at - 1] !== SPACE) continue;
    const close = at + 1 + COMMON_TIME_BYTES;
    if (bytes[close] !== CLOSE || bytes[close + 1] !== SPACE || bytes[close + 2] !== QUOTE) continue;
    const time = commonTime(bytes, at + 1);
    if (Number.isNaN(time)) continue;
    if (fields.key !== "ip") return `Common and Combined lines have no field ${JSON.stringify(fields.key)}, only ip`;
    return { key: bytes.toString(all < 0x80 ? "latin1" : "utf8", start, hostEnd), time };
  }
  return "neither Common, Combined nor JSON";
}

function readJson(line: string, fields: Fields): Request | string {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return "broken JSON";
  }
  const name = fields.time.find((field) => fieldOf(record, field) !== undefined);
  if (name === undefined) return `no time in ${fields.time.join(", ")} (--time names the field)`;
  const time = anyTime(fieldOf(record, name));
  if (Number.isNaN(time)) return `no time that can be read in ${name}`;
  const key = fieldOf(record, fields.key);
  if (key === undefined) return `no field ${JSON.stringify(fields.key)} (--key names the field)`;
  if (typeof key !== "string" && typeof key !== "number" && typeof key !== "boolean")
    return `no text or number in ${fields.key}`;
  return key === "" ? `nothing in ${fields.key}` : { key: String(key), time };
}

/** record["a.b"] if there is one, else record.a.b; undefined if neither. */
function fieldOf(record: unknown, path: string): unknown {
  if (typeof record !== "object" || record === null) return undefined;
  if (Object.hasOwn(record, path)) return (record as Record<string, unknown>)[path];
  const dot = path.indexOf(".");
  return dot < 0 ? undefined : fieldOf(fieldOf(record, path.slice(0, dot)), path.slice(dot + 1));
}
