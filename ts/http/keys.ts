import type { Key } from "../contract.ts";
import { badOption, LimiterError, requireInteger, requireKnown } from "../errors.ts";
import { formatIp, masked, parseHost } from "./ip.ts";
import type { Maybe } from "./maybe.ts";
import { Recent } from "./recent.ts";
import type { Seen } from "./seen.ts";
import { sha256 } from "./sha256.ts";
import { finderOf, type Trust } from "./trust.ts";

/** Makes keys of what the server has seen, and of the framework's own arguments. */
export interface KeySource<A extends unknown[] = unknown[]> {
  /** null: this request is not limited. */
  keyOf: (seen: Seen, ...args: A) => Maybe<Key | null>;
}

/**
 * Whom a request counts against: byIp(), byHeader(), byUser(), compound(), or a function of the
 * framework's arguments. null, and nothing else, means not to limit.
 */
export type KeyOf<A extends unknown[]> = KeySource<A> | ((...args: A) => Maybe<Key | null>);

/** @throws {RangeError} it is no key source */
export function sourceOf<A extends unknown[]>(option: string, key: KeyOf<A>): KeySource<A> {
  if (typeof key === "function") return { keyOf: (_, ...args) => key(...args) };
  if (typeof key?.keyOf !== "function") {
    throw badOption(option, key, "byIp(), byHeader(name), byUser(of), compound(...), or a function that returns a key");
  }
  return key;
}

/** What to do for a request without what the key is made of. */
export interface MissingOption<A extends unknown[]> {
  /**
   * "error" unless given: the request fails. Else another key: byIp(), `() => "everyone else"`
   * for one bucket that they all share, `() => null` to let them pass.
   */
  missing?: "error" | KeyOf<A>;
}

function otherwise<A extends unknown[]>(option: MissingOption<A>, what: string): KeySource<A>["keyOf"] {
  const { missing = "error" } = option;
  if (missing !== "error") {
    const source = sourceOf("missing", missing);
    return source.keyOf;
  }
  return () => {
    throw new LimiterError("unsupported", `${what}; say with the option "missing" what to do then`);
  };
}

export interface ByIpOptions<A extends unknown[]> extends MissingOption<A> {
  /**
   * Whom to believe about the address. Nobody unless given: it is the connection's other end,
   * and in Workers the client that Cloudflare has seen.
   */
  trust?: Trust;
  /** Leading bits of an IPv6 address that make the key, 1..128; 64 unless given, the least that one customer gets. */
  prefix?: number;
}

/**
 * The client's address, as "ip:192.0.2.1" or "ip:2001:db8:0:1::/64".
 *
 * @throws {RangeError} an option is out of range
 */
export function byIp<A extends unknown[]>(options: ByIpOptions<NoInfer<A>> = {}): KeySource<A> {
  requireKnown("byIp", options, ["trust", "prefix", "missing"]);
  const find = finderOf(options.trust);
  const prefix = requireInteger("prefix", options.prefix ?? 64, 1, 128);
  const suffix = prefix < 128 ? `/${prefix}` : "";
  const none = otherwise(options, "byIp found no address of the client");
  const keyOfText = (text: string): string | null => {
    const ip = parseHost(text);
    if (!ip) return null;
    return ip.length === 2 ? `ip:${formatIp(ip)}` : `ip:${formatIp(masked(ip, prefix))}${suffix}`;
  };
  // An entry of X-Forwarded-For is a piece of a longer text, which would stay in memory with it.
  const whole = typeof options.trust !== "number" && !Array.isArray(options.trust);
  const recent = new Recent<string>();
  return {
    keyOf(seen, ...args) {
      const text = find(seen);
      if (text === null) return none(seen, ...args);
      const known = recent.get(text);
      if (known !== undefined) return known;
      const key = keyOfText(text);
      if (key === null) return none(seen, ...args);
      return whole ? recent.keep(text, key) : key;
    },
  };
}

/**
 * A header, such as an API key, as its SHA-256: "x-api-key:" and 32 hex digits. Whoever reads
 * keys from a ledger or a log can call nothing with them.
 *
 * A client that sends another value each time is another key each time: check the value before,
 * or limit by address too.
 *
 * @throws {RangeError} no name, or an option is unknown
 */
export function byHeader<A extends unknown[]>(name: string, options: MissingOption<NoInfer<A>> = {}): KeySource<A> {
  requireKnown("byHeader", options, ["missing"]);
  if (typeof name !== "string" || !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
    throw badOption("byHeader", name, "the name of a header");
  }
  const label = name.toLowerCase();
  const none = otherwise(options, `the request has no header ${label}`);
  return {
    keyOf(seen, ...args) {
      const value = seen.header(label)?.trim();
      return value ? `${label}:${hex(sha256(value), 16)}` : none(seen, ...args);
    },
  };
}

/**
 * What your authentication knows of the caller, as "user:42".
 *
 * @param of  an identity, or nothing, from the framework's arguments; run authentication before
 * @throws {RangeError} an option is unknown
 */
export function byUser<A extends unknown[]>(
  of: (...args: A) => Maybe<string | number | null | undefined>,
  options: MissingOption<NoInfer<A>> = {},
): KeySource<A> {
  requireKnown("byUser", options, ["missing"]);
  if (typeof of !== "function") throw badOption("byUser", of, "a function that returns the caller's identity");
  const none = otherwise(options, "byUser found no identity of the caller");
  return {
    async keyOf(seen, ...args) {
      const id = await of(...args);
      return id === undefined || id === null || id === "" ? none(seen, ...args) : `user:${id}`;
    },
  };
}

/**
 * Several keys as one, such as a user on a route. If one of them is null, so is the whole.
 *
 * @throws {RangeError} there is none, or one is no key source
 */
export function compound<A extends unknown[]>(...keys: KeyOf<A>[]): KeySource<A> {
  if (keys.length === 0) throw badOption("compound", keys, "at least one key");
  const sources = keys.map((key) => sourceOf("compound", key));
  return {
    async keyOf(seen, ...args) {
      const parts = await Promise.all(sources.map((source) => source.keyOf(seen, ...args)));
      if (parts.includes(null)) return null;
      for (const part of parts) {
        if (typeof part !== "string" || part === "")
          throw badOption("each key of compound", part, "a non-empty string");
      }
      return parts as string[];
    },
  };
}

function hex(bytes: Uint8Array, count: number): string {
  return Array.from(bytes.subarray(0, count), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
