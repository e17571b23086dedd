// Judges of a run. They know policies from their specs alone, and share no code with what they
// judge: neither its arithmetic nor its state.
import type { PolicySpec } from "../contract.ts";

/** Tokens that were admitted, and when: whole ms by the ledger's clock. */
export interface Admission {
  at: number;
  cost: number;
}

/**
 * Tokens above the policy in the worst interval of all; 0 or less: the policy held.
 *
 * A bucket must hold over every interval: admitted in (s, t] <= burst + rate × (t - s) / per.
 * A fixed window over every window, a sliding one over every (t - window, t].
 *
 * @param admissions  in the order of their times
 */
export function overshootOf(spec: PolicySpec, admissions: readonly Admission[]): number {
  if (spec.kind === "tokenBucket") return overBucket(spec, admissions);
  if (spec.kind === "fixedWindow") return overFixed(spec, admissions);
  return overSliding(spec, admissions);
}

function overBucket({ rate, per, burst }: PolicySpec & { kind: "tokenBucket" }, admissions: readonly Admission[]) {
  // With S(t) admitted up to t: the worst of S(t) - rate × t / per minus the same before any
  // s <= t, in 1 / per of a token so that all is whole.
  const start = admissions[0]?.at ?? 0;
  let total = 0;
  let lowest = Number.POSITIVE_INFINITY;
  let worst = Number.NEGATIVE_INFINITY;
  for (const { at, cost } of admissions) {
    const refilled = rate * (at - start);
    lowest = Math.min(lowest, total * per - refilled);
    total += cost;
    worst = Math.max(worst, total * per - refilled - lowest - burst * per);
  }
  return worst / per;
}

function overFixed({ limit, window }: PolicySpec & { kind: "fixedWindow" }, admissions: readonly Admission[]) {
  let worst = -limit;
  let current = -1;
  let used = 0;
  for (const { at, cost } of admissions) {
    const index = Math.floor(at / window);
    if (index !== current) used = 0;
    current = index;
    used += cost;
    worst = Math.max(worst, used - limit);
  }
  return worst;
}

function overSliding({ limit, window }: PolicySpec & { kind: "slidingWindow" }, admissions: readonly Admission[]) {
  let worst = -limit;
  let oldest = 0;
  let used = 0;
  for (const { at, cost } of admissions) {
    used += cost;
    while ((admissions[oldest] as Admission).at <= at - window) used -= (admissions[oldest++] as Admission).cost;
    worst = Math.max(worst, used - limit);
  }
  return worst;
}

/** What one limiter that sees every call at once, wherever it is made, would admit in all. */
export function clairvoyant(spec: PolicySpec, calls: readonly Admission[]): number {
  let total = 0;
  const admits = spec.kind === "tokenBucket" ? bucket(spec) : window(spec);
  for (const { at, cost } of calls) if (admits(at, cost)) total += cost;
  return total;
}

function bucket({ rate, per, burst }: PolicySpec & { kind: "tokenBucket" }) {
  let level = burst * per;
  let last = Number.NaN;
  return (at: number, cost: number) => {
    if (!Number.isNaN(last)) level = Math.min(burst * per, level + rate * (at - last));
    last = at;
    if (level < cost * per) return false;
    level -= cost * per;
    return true;
  };
}

function window(spec: PolicySpec & { kind: "fixedWindow" | "slidingWindow" }) {
  const { limit, window } = spec;
  let counted: Admission[] = [];
  let used = 0;
  return (at: number, cost: number) => {
    const begin = spec.kind === "fixedWindow" ? Math.floor(at / window) * window - 1 : at - window;
    const gone = counted.findIndex((admission) => admission.at > begin);
    for (const { cost } of counted.slice(0, gone < 0 ? counted.length : gone)) used -= cost;
    counted = gone < 0 ? [] : counted.slice(gone);
    if (used + cost > limit) return false;
    counted.push({ at, cost });
    used += cost;
    return true;
  };
}
