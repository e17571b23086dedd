import { badOption } from "../errors.ts";

/** A span of time: ms as a number, or text with a unit ("250ms", "10s", "5m", "1h", "1d"). */
export type Duration = number | string;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Longest span taken anywhere: about 100 years. */
export const DURATION_MS_MAX = 100 * 366 * 86_400_000;

/** `value` in whole ms, in min..max. @throws {RangeError} names `option`. */
export function toMs(option: string, value: unknown, min = 1, max = DURATION_MS_MAX): number {
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(value.trim()) : null;
  const given = typeof value === "number" ? value : Number.NaN;
  const ms = match ? Number(match[1]) * (UNIT_MS[match[2] as string] as number) : given;
  // 1.1 × 1000 is not a whole number in binary, though it is meant as one.
  const whole = Math.round(ms);
  if (!(Math.abs(ms - whole) < 1e-6 && whole >= min && whole <= max)) {
    const most = max === DURATION_MS_MAX ? "100 years" : `${max} ms`;
    const allowed = `a duration of ${min} ms to ${most} in whole ms, as a number or as "250ms", "10s", "5m", "1h", "1d"`;
    throw badOption(option, value, allowed);
  }
  return whole;
}
