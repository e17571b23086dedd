// The little of HTTP's structured fields (RFC 9651) that the RateLimit fields are made of.

/** Largest integer that a structured field can carry: 15 digits. */
const INTEGER_MAX = 999_999_999_999_999;

/** Text that can stand between quotes in a structured field: printable ASCII. */
export const PRINTABLE = /^[\x20-\x7e]+$/;

/** `text`, which is printable ASCII, as a quoted string. */
export function sfString(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** `value` as an integer. One that is too large for the format is told as the largest. */
export function sfInteger(value: number): string {
  // biome-ignore lint/complexity/useMathMinMax: it makes a double of every integer, several times as slow to print
  return String(value < INTEGER_MAX ? value : INTEGER_MAX);
}

/** Bytes between colons, in base64. */
export function sfBytes(bytes: Uint8Array): string {
  return `:${btoa(String.fromCharCode(...bytes))}:`;
}
