import type { Policy } from "../contract.ts";
import { badOption } from "../errors.ts";
import { PRINTABLE, sfString } from "./structured.ts";

/** A policy as headers tell it. */
export interface Quota {
  name: string;
  /** The name as a structured field has it. */
  quoted: string;
  /** How its item of RateLimit begins. */
  head: string;
  /** Most requests at once: the policy's capacity. */
  quota: number;
  /** Seconds, a positive integer; see quotasOf. */
  window: number;
}

const UNITS: readonly [suffix: string, ms: number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
];

/** How long the whole quota takes to come back, ms: a bucket's refill, or the window. */
function windowMs({ spec }: Policy): number {
  return spec.kind === "tokenBucket" ? Math.ceil((spec.burst * spec.per) / spec.rate) : spec.window;
}

function shortest(ms: number): string {
  const [suffix, unit] = UNITS.find(([, unit]) => ms % unit === 0) as [string, number];
  return `${ms / unit}${suffix}`;
}

/**
 * A limiter's policies, as headers tell them.
 *
 * A bucket tells its size, and the seconds that it takes to fill. A client that sends q requests
 * every w seconds then keeps to it: q at once fit in, and q / w is its rate. A window shorter
 * than a second, for which the format has no number, is told as one: too little, never too much.
 *
 * The only policy has the limiter's name; of several each has its window behind it, as in
 * "api-1s" and "api-1d".
 *
 * @throws {RangeError} the limiter's name can't stand in a header
 */
export function quotasOf(name: string, policies: readonly Policy[]): Quota[] {
  if (!PRINTABLE.test(name)) throw badOption("the limiter's name", name, "of printable ASCII, to show in headers");
  const taken = new Map<string, number>();
  return policies.map((policy) => {
    const ms = windowMs(policy);
    const plain = policies.length === 1 ? name : `${name}-${shortest(ms)}`;
    const nth = (taken.get(plain) ?? 0) + 1;
    taken.set(plain, nth);
    const own = nth === 1 ? plain : `${plain}-${nth}`;
    const quoted = sfString(own);
    return {
      name: own,
      quoted,
      head: `${quoted};r=`,
      quota: policy.capacity,
      window: Math.max(1, Math.ceil(ms / 1000)),
    };
  });
}
