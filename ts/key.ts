import type { Key } from "./contract.ts";
import { badOption } from "./errors.ts";

const MARK = "\u0000";

const WANTED = "a non-empty string, or a non-empty array of strings";

/**
 * The one string that stands for a key. No two keys share one: a string stands for itself; an
 * array is joined with the lengths of its parts, behind a mark; a string that begins with the
 * mark gets a second one.
 * @throws {RangeError} the key is empty, or is no string or array of strings
 */
export function encodeKey(key: Key): string {
  return typeof key === "string" ? encodeString(key) : encodeParts(key);
}

/** encodeKey of a string. */
export function encodeString(key: string): string {
  if (key === "") throw badOption("key", key, WANTED);
  return key.charCodeAt(0) === 0 ? MARK + key : key;
}

/** encodeKey of an array. */
export function encodeParts(key: readonly string[]): string {
  if (!Array.isArray(key) || key.length === 0) throw badOption("key", key, WANTED);
  let joined = MARK;
  for (const part of key) {
    if (typeof part !== "string") throw badOption("each part of a key", part, "a string");
    joined += `${part.length}:${part}`;
  }
  return joined;
}

/** The parts of an array that encodeParts has joined. */
export function partsOf(key: string): string[] {
  const parts: string[] = [];
  for (let at = 1; at < key.length; ) {
    const begin = key.indexOf(":", at) + 1;
    const end = begin + Number(key.slice(at, begin - 1));
    parts.push(key.slice(begin, end));
    at = end;
  }
  return parts;
}
