// The arithmetic of core-as/ as plain JavaScript: the same files, compiled by esbuild.

// @ts-expect-error built by `npm run build`, which gives it no types
import * as built from "../../build/twin.js";
import type { Policy } from "../../ts/contract.ts";
import { kindOf } from "../../ts/core/kinds.ts";

interface Twin {
  decide(
    kind: number,
    policy: Float64Array,
    state: Float64Array,
    out: Float64Array,
    now: number,
    cost: number,
    commit: boolean,
  ): boolean;
  refund(kind: number, policy: Float64Array, state: Float64Array, now: number, count: number): void;
}

export const twin: Twin = built;

/** Decides on one key by the twin, with a bucket's epoch at the first time that it is given. */
export function twinDecider(policy: Policy) {
  const constants = Float64Array.from(policy.constants);
  const state = new Float64Array(policy.stateCells);
  const out = new Float64Array(4);
  let epoch = Number.NaN;
  let last = 0;
  return (now: number, cost: number, commit = true) => {
    last = Math.max(last, now);
    if (Number.isNaN(epoch)) epoch = policy.kind === "tokenBucket" ? last : 0;
    twin.decide(kindOf(policy), constants, state, out, last - epoch, cost, commit);
    const [admitted, remaining, retryAfterMs, resetMs] = out as unknown as [number, number, number, number];
    return {
      success: admitted === 1,
      remaining,
      retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
      reset: last + resetMs,
    };
  };
}
