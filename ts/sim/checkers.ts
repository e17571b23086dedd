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
export function clairvoyant(specs: readonly PolicySpec[], calls: readonly Admission[]): number {
  let total = 0;
  const budgets = specs.map((spec) => (spec.kind === "tokenBucket" ? bucket(spec) : window(spec)));
  for (const { at, cost } of calls) {
    if (!budgets.every((budget) => budget.left(at) >= cost)) continue;
    for (const budget of budgets) budget.take(at, cost);
    total += cost;
  }
  return total;
}

interface Budget {
  left(at: number): number;
  take(at: number, cost: number): void;
}

function bucket({ rate, per, burst }: PolicySpec & { kind: "tokenBucket" }): Budget {
  // In 1 / per of a token, so that all is whole.
  let level = burst * per;
  let last = Number.NaN;
  return {
    left(at) {
      if (!Number.isNaN(last)) level = Math.min(burst * per, level + rate * (at - last));
      last = at;
      return level / per;
    },
    take(_, cost) {
      level -= cost * per;
    },
  };
}

function window(spec: PolicySpec & { kind: "fixedWindow" | "slidingWindow" }): Budget {
  let counted: Admission[] = [];
  let used = 0;
  return {
    left(at) {
      const begin = spec.kind === "fixedWindow" ? Math.floor(at / spec.window) * spec.window - 1 : at - spec.window;
      const kept = counted.findIndex((admission) => admission.at > begin);
      for (const { cost } of counted.slice(0, kept < 0 ? counted.length : kept)) used -= cost;
      counted = kept < 0 ? [] : counted.slice(kept);
      return spec.limit - used;
    },
    take(at, cost) {
      counted.push({ at, cost });
      used += cost;
    },
  };
}
