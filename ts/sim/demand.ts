import type { PolicySpec } from "../contract.ts";
import type { World } from "./world.ts";

/** A call that someone makes. */
export interface Call {
  /** True time, ms. */
  at: number;
  holder: number;
  cost: number;
}

export type DemandKind = "steady" | "bursts" | "skewed" | "hotspot" | "greedy" | "surge";
/** Those that a seed draws from. */
export const DEMAND_KINDS: readonly DemandKind[] = ["steady", "bursts", "skewed", "hotspot", "greedy"];

/** When a greedy holder has filled up, and when it begins to spend, as shares of a period. */
export const GREEDY = { fill: 0.05, spend: 0.6 };

/** Who asks for how much. */
export interface Demand {
  kind: DemandKind;
  /** Tokens asked for in all, as a multiple of what the policy lets through. */
  load: number;
  /** Most that one call costs. */
  costMax: number;
}

/**
 * All calls of a run, in the order of their times.
 *
 * - steady: each holder asks as much as any other, at random moments
 * - bursts: the same, in bursts that all holders begin together, with silence between them
 * - skewed: each holder asks half as much as the one before
 * - hotspot: one holder asks for nearly all; which one changes
 * - greedy: one holder fills up early in each period and spends what it got much later, when the
 *   others ask as well: as one who hopes for stale tokens would. In between it is cut off and
 *   frozen, where those are among the faults
 * - surge: steady in the first third, and a twentieth of that afterwards
 */
export function callsOf(
  world: World,
  demand: Demand,
  policies: readonly PolicySpec[],
  holders: number,
  durationMs: number,
): { calls: Call[]; periodMs: number } {
  const { kind, load, costMax } = demand;
  const calls: Call[] = [];
  const periodMs = durationMs / (2 + world.pick(4));
  const meanMs = (1 + costMax) / 2 / (Math.min(...policies.map(perMs)) * load);
  for (let at = world.exponential(meanMs); at < durationMs; at += world.exponential(meanMs)) {
    const phase = Math.floor(at / periodMs);
    const within = at - phase * periodMs;
    const cost = 1 + world.pick(costMax);
    if (kind === "steady") calls.push({ at, holder: world.pick(holders), cost });
    else if (kind === "surge") {
      if (at < durationMs / 3 || world.random() < 0.05) calls.push({ at, holder: world.pick(holders), cost });
    } else if (kind === "bursts") calls.push({ at: phase * periodMs + within / 4, holder: world.pick(holders), cost });
    else if (kind === "skewed") calls.push({ at, holder: Math.floor(-Math.log2(1 - world.random())) % holders, cost });
    else if (kind === "hotspot") {
      const hot = world.random() < 0.9;
      calls.push({ at, holder: hot ? phase % holders : world.pick(holders), cost });
    } else {
      const { fill, spend } = GREEDY;
      const phaseAt = phase * periodMs;
      const draw = world.random();
      if (draw < 0.3) calls.push({ at: phaseAt + within * fill, holder: phase % holders, cost });
      else {
        const holder = draw < 0.6 ? phase % holders : world.pick(holders);
        calls.push({ at: phaseAt + spend * periodMs + within / 10, holder, cost });
      }
    }
  }
  return { calls: calls.sort((a, b) => a.at - b.at), periodMs };
}

/** Tokens per ms that the policy lets through. */
function perMs(spec: PolicySpec): number {
  return spec.kind === "tokenBucket" ? spec.rate / spec.per : spec.limit / spec.window;
}
