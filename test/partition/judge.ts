// Judges what callers saw from outside. When a call was admitted is known only to lie between its
// start and its end, both by the clock that all processes of the machine share, in whole ms.
import type { PolicySpec } from "../../ts/contract.ts";

/** A call that was admitted. */
export interface Span {
  start: number;
  end: number;
  cost: number;
}

/**
 * Tokens above the policy that no placement of the calls between their starts and ends explains.
 *
 * An interval is charged with those calls alone that lie in it from start to end: they were
 * admitted in it, however slow the machine was. The worst of all intervals counts; below 0: the
 * policy may have held.
 */
export function certainOvershoot(spec: PolicySpec, admitted: readonly Span[]): number {
  if (spec.kind === "tokenBucket") {
    const { rate, per, burst } = spec;
    return worst(admitted, (ms) => burst + (rate * ms) / per);
  }
  if (spec.kind === "slidingWindow") {
    const { limit, window } = spec;
    return worst(admitted, (ms) => (ms < window ? limit : Number.POSITIVE_INFINITY));
  }
  const { limit, window } = spec;
  const used = new Map<number, number>();
  for (const { start, end, cost } of admitted) {
    const index = Math.floor(start / window);
    if (Math.floor(end / window) === index) used.set(index, (used.get(index) ?? 0) + cost);
  }
  return Math.max(0, ...used.values()) - limit;
}

/** Most tokens in any interval above what it may have. */
function worst(admitted: readonly Span[], allowed: (ms: number) => number): number {
  const byEnd = [...admitted].sort((a, b) => a.end - b.end);
  let most = Number.NEGATIVE_INFINITY;
  for (const from of new Set(admitted.map(({ start }) => start))) {
    let inside = 0;
    for (const { start, end, cost } of byEnd) {
      if (start < from) continue;
      inside += cost;
      most = Math.max(most, inside - allowed(end - from));
    }
  }
  return most;
}
