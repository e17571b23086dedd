// What a replay found, as a table for people or as JSON for programs.
import type { Policy } from "../contract.ts";
import type { Unread } from "./reader.ts";
import type { KeyCount } from "./tally.ts";

export interface Replayed {
  requests: number;
  skipped: number;
  outOfOrder: number;
  keys: number;
  admitted: number;
  denied: number;
  keysDenied: number;
  top: KeyCount[];
  /** First and last request, epoch ms; null if there are none. */
  span: { from: number; to: number } | null;
}

const KEY_WIDTH = 39;
const NUMBER_WIDTH = 14;

const count = (value: number) => value.toLocaleString("en-US");

/** One line of JSON. The fields and their order are fixed; times are ISO 8601. */
export function json({ span, top, ...counts }: Replayed): string {
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return JSON.stringify({ ...counts, from: iso(span?.from), to: iso(span?.to), top });
}

/** The table, in at most 80 columns. */
export function table(found: Replayed, policy: Policy, key: string): string {
  const row = (name: string, value: number, of?: number) =>
    `  ${name.padEnd(14)}${count(value).padStart(NUMBER_WIDTH)}${of ? share(value, of) : ""}`;
  const lines = [`${policyText(policy)}, by ${printable(key)}`];
  if (found.span) lines.push(spanText(found.span));
  lines.push(
    "",
    row("requests", found.requests),
    row("admitted", found.admitted, found.requests),
    row("denied", found.denied, found.requests),
    row("keys", found.keys),
    row("keys denied", found.keysDenied, found.keys),
    row("out of order", found.outOfOrder, found.requests),
    row("lines skipped", found.skipped),
  );
  if (found.top.length > 0) {
    lines.push("", `  ${"denied most".padEnd(KEY_WIDTH)}${"requests".padStart(12)}${"denied".padStart(12)}`);
    for (const { key, requests, denied } of found.top) {
      const counts = count(requests).padStart(12) + count(denied).padStart(12);
      lines.push(`  ${cut(printable(key), KEY_WIDTH).padEnd(KEY_WIDTH)}${counts}${share(denied, requests)}`);
    }
  }
  return lines.join("\n");
}

/** What could not be read: how many lines, and the first few. */
export function skippedText(skipped: number, unread: readonly Unread[]): string {
  const lines = unread.map(
    ({ where, why, excerpt }) => `  ${printable(where)}: ${printable(why)}\n    ${printable(excerpt)}`,
  );
  const first = skipped > unread.length ? `, the first ${unread.length}` : "";
  return `${count(skipped)} ${skipped === 1 ? "line" : "lines"} skipped${first}:\n${lines.join("\n")}`;
}

/** Log lines come from strangers: what would steer a terminal is shown as its code. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

function policyText({ spec, exact }: Policy): string {
  const rounded = exact ? "" : ", rounded to the safe side";
  if (spec.kind === "tokenBucket") {
    return `tokenBucket: ${count(spec.rate)} per ${duration(spec.per)}, burst ${count(spec.burst)}${rounded}`;
  }
  return `${spec.kind}: ${count(spec.limit)} per ${duration(spec.window)}${rounded}`;
}

const UNITS: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
  [1, "ms"],
];

/** The two largest units of it: "3 d 11 h". */
function duration(ms: number): string {
  const parts: string[] = [];
  let left = ms;
  for (const [unit, name] of UNITS) {
    if (left >= unit) parts.push(`${Math.floor(left / unit)} ${name}`);
    left %= unit;
  }
  return parts.slice(0, 2).join(" ") || "0 ms";
}

function spanText({ from, to }: { from: number; to: number }): string {
  const text = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  return `${text(from)} to ${text(to)} UTC (${duration(to - from)})`;
}

/** A percentage that says 0 and 100 only where they are exact. */
function share(part: number, whole: number): string {
  const percent = (100 * part) / whole;
  const rounded = part > 0 && percent < 0.05 ? "<0.1" : part < whole && percent >= 99.95 ? ">99.9" : percent.toFixed(1);
  return `${rounded.padStart(7)} %`;
}

function cut(text: string, width: number): string {
  const chars = Array.from(text);
  return chars.length > width ? `${chars.slice(0, width - 3).join("")}...` : text;
}
