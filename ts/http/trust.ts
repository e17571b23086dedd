// Which of the addresses that a request names is its client's.
//
// Anyone can send X-Forwarded-For. What stands there is true only from the right end on, as
// far as proxies of your own have appended to it; whatever stands further left is hearsay.
import { badOption, requireInteger, requireKnown } from "../errors.ts";
import { type Ip, masked, parseHost, parseIp } from "./ip.ts";
import type { Seen } from "./seen.ts";

/**
 * Whom to believe about a client's address.
 * - a number: so many proxies stand before this server, and each appends to X-Forwarded-For
 * - a list: those proxies are trusted, by address, by CIDR, or as "loopback", "private" or "linklocal"
 * - a header: the platform sets it on every request, whatever the client sends
 */
export type Trust = number | readonly string[] | { header: string };

const NAMED: Record<string, readonly string[]> = {
  loopback: ["127.0.0.0/8", "::1"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
};
const HOPS_MAX = 64;
const ALLOWED =
  'a number of proxies, a list of addresses, CIDRs, "loopback", "private" or "linklocal", or { header: name }';

/** Finds what stands for the client's address, which may still be none; null if nothing does. */
export type Finder = (seen: Seen) => string | null;

/** @throws {RangeError} `trust` is none */
export function finderOf(trust: Trust | undefined): Finder {
  if (trust === undefined) return peerOf;
  if (typeof trust === "number") {
    const hops = requireInteger("trust", trust, 0, HOPS_MAX);
    return (seen) => walk(seen, (_, nth) => nth < hops);
  }
  if (Array.isArray(trust)) {
    const ranges = (trust as readonly string[]).flatMap((entry) => NAMED[entry] ?? [entry]).map(rangeOf);
    return (seen) => walk(seen, (ip) => ranges.some((range) => range(ip)));
  }
  requireKnown("trust", trust, ["header"]);
  const { header } = trust as { header: string };
  if (typeof header !== "string" || header === "") throw badOption("trust.header", header, "the name of a header");
  return (seen) => seen.header(header);
}

/** The other end of the connection. Workers have none, and say whom Cloudflare has seen. */
function peerOf(seen: Seen): string | null {
  return (seen.onWorkers ? seen.header("cf-connecting-ip") : seen.peer()) ?? null;
}

/** From the connection's other end leftwards: the first address that is not trusted, or the last one there is. */
function walk(seen: Seen, isTrusted: (ip: Ip, nth: number) => boolean): string | null {
  const named = (seen.header("x-forwarded-for") ?? "").split(",").filter((entry) => entry.trim() !== "");
  let text = peerOf(seen);
  for (let nth = 0; text !== null; nth++) {
    const ip = parseHost(text);
    // A trusted proxy wrote what is no address: nobody knows who it was.
    if (!ip || !isTrusted(ip, nth) || named.length === 0) return text;
    text = named.pop() as string;
  }
  return null;
}

/** Whether an address is in the range that `text` names. @throws {RangeError} it names none */
function rangeOf(text: string): (ip: Ip) => boolean {
  const [, address = "", digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const base = parseIp(address);
  if (!base) throw badOption("trust", text, ALLOWED);
  const width = 16 * base.length;
  // An IPv4-mapped address was written with a prefix for IPv6.
  const mapped = base.length === 2 && address.includes(":") ? 96 : 0;
  const bits = digits === undefined ? width : Number(digits) - mapped;
  if (bits < 0 || bits > width) throw badOption("trust", text, `a CIDR with a prefix of at most ${width + mapped}`);
  const network = masked(base, bits);
  if (network.some((word, index) => word !== base[index])) {
    throw badOption("trust", text, "a CIDR without bits behind its prefix");
  }
  return (ip) => ip.length === base.length && masked(ip, bits).every((word, index) => word === network[index]);
}
