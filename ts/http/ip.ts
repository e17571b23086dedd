// IP addresses as text: strict parsing, one canonical form, prefixes.
//
// An address that two readers understand differently is a way around a limit, so whatever is
// ambiguous (octets with leading zeros, missing groups, junk behind) is no address here.

/** An address in words of 16 bits: 2 of IPv4, 8 of IPv6. IPv4-mapped IPv6 is IPv4. */
export type Ip = readonly number[];

const DOT = 46;
const ZERO = 48;
const IPV4_LENGTH_MAX = 15;
const GROUP = /^[0-9a-f]{1,4}$/i;
/** Longest text of an address: eight groups, the last two as IPv4. */
const IPV6_LENGTH_MAX = 45;

/** The address that `text` is, and nothing else. */
export function parseIp(text: string): Ip | null {
  return text.includes(":") ? parseV6(text) : parseV4(text);
}

/**
 * The address in what proxies and sockets write: with a port, brackets, a zone or blanks around,
 * as in "192.0.2.1:443", "[2001:db8::1]:443", "fe80::1%eth0".
 */
export function parseHost(text: string): Ip | null {
  const plain = parseIp(text);
  if (plain) return plain;
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(trimmed);
  const withPort = /^([\d.]+):\d{1,5}$/.exec(trimmed);
  const bare = bracketed?.[1] ?? withPort?.[1] ?? trimmed;
  if (bracketed && !bare.includes(":")) return null;
  // A zone names an interface of the machine that wrote it, and is no part of the address.
  const zone = bare.includes(":") ? bare.indexOf("%") : -1;
  return parseIp(zone < 0 ? bare : bare.slice(0, zone));
}

function parseV4(text: string): Ip | null {
  if (text.length > IPV4_LENGTH_MAX) return null;
  let value = 0;
  let octet = -1;
  let dots = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === DOT && octet >= 0 && dots < 3) {
      value = value * 256 + octet;
      octet = -1;
      dots++;
      continue;
    }
    // Not after a leading zero, which some read as octal.
    const digit = char - ZERO;
    if (digit < 0 || digit > 9 || octet === 0) return null;
    octet = octet < 0 ? digit : octet * 10 + digit;
    if (octet > 255) return null;
  }
  return dots === 3 && octet >= 0 ? [value >>> 8, ((value & 255) << 8) | octet] : null;
}

function parseV6(text: string): Ip | null {
  if (text.length > IPV6_LENGTH_MAX) return null;
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const head = groups(halves[0] as string, halves.length === 1);
  const tail = halves.length === 2 ? groups(halves[1] as string, true) : [];
  if (!head || !tail) return null;
  const missing = 8 - head.length - tail.length;
  // "::" stands for one group or more.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  return unmapped([...head, ...new Array<number>(missing).fill(0), ...tail]);
}

/** The groups between colons. The last one may be IPv4, if it ends the address. */
function groups(text: string, ends: boolean): number[] | null {
  if (text === "") return [];
  const words: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const v4 = ends && index === parts.length - 1 ? parseV4(part) : null;
    if (v4) words.push(...v4);
    else if (GROUP.test(part)) words.push(Number.parseInt(part, 16));
    else return null;
  }
  return words;
}

function unmapped(words: number[]): Ip {
  const mapped = words[5] === 0xffff && words.slice(0, 5).every((word) => word === 0);
  return mapped ? words.slice(6) : words;
}

/** The address with all but its first `bits` bits cleared. */
export function masked(ip: Ip, bits: number): Ip {
  return ip.map((word, index) => {
    const kept = Math.min(Math.max(bits - 16 * index, 0), 16);
    return word & (0xffff << (16 - kept)) & 0xffff;
  });
}

/** The one text of an address: dotted for IPv4, RFC 5952 for IPv6. */
export function formatIp(ip: Ip): string {
  if (ip.length === 2) {
    const [high, low] = ip as [number, number];
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  // The longest run of two or more zero groups, the first of equals, is written "::".
  let best = { at: 0, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (ip[at + length] === 0) length++;
    if (length > best.length) best = { at, length };
  }
  const hex = ip.map((word) => word.toString(16));
  if (best.length === 1) return hex.join(":");
  return `${hex.slice(0, best.at).join(":")}::${hex.slice(best.at + best.length).join(":")}`;
}
