import type { KeyState, LedgerReply, LedgerRequest, Op, Outcome, Policy, PolicySpec } from "../contract.ts";
import type { Meter } from "../core/meter.ts";
import { policyOf } from "../policies/spec.ts";
import { loadCarried } from "./carry.ts";

/** Everything a ledger keeps of a key. Plain JSON: all numbers are whole and below 2^53. */
export interface LedgerState {
  v: 1;
  policy: PolicySpec;
  key: KeyState;
}

/** What one request makes of the ledger. */
export interface Step {
  /** null: nothing is known of the key, its budget is whole. */
  state: LedgerState | null;
  reply: LedgerReply;
  /** Whether `state` differs from what went in, and so must be committed before the reply leaves. */
  changed: boolean;
}

/**
 * The single writer of one key, as a pure step: state, request and time in, state and reply
 * out. No I/O, no clock. The host stores the state, and sends the reply after that.
 *
 * @param policy  the policy of `request`, checked
 * @param now     whole ms since the Unix epoch, never less than in the step before
 */
export function step(
  meter: Meter,
  policy: Policy,
  state: LedgerState | null,
  request: LedgerRequest,
  now: number,
): Step {
  load(meter, policy, state, now);
  const outcomes: Outcome[] = [];
  let touched = false;
  let known = state !== null;
  for (const op of request.ops) {
    if (op[0] === "reset") {
      meter.load(policy, null, now);
      touched ||= known;
      known = false;
      outcomes.push(meter.decide(1, false));
      continue;
    }
    const outcome = apply(meter, op);
    outcomes.push(outcome);
    if ((op[0] === "take" && outcome.admitted) || (op[0] === "refund" && known)) {
      touched = true;
      known = true;
    }
  }
  const reply: LedgerReply = { v: 1, outcomes };
  if (!touched) return { state, reply, changed: false };
  const next: LedgerState | null = known ? { v: 1, policy: policy.spec, key: meter.save() } : null;
  return { state: next, reply, changed: true };
}

function load(meter: Meter, policy: Policy, state: LedgerState | null, now: number): void {
  const same = state === null || samePolicy(state.policy, policy.spec);
  if (same) meter.load(policy, state?.key ?? null, now);
  else loadCarried(meter, policyOf(state.policy), policy, state.key, now);
}

function samePolicy(a: PolicySpec, b: Readonly<PolicySpec>): boolean {
  const names = Object.keys(b) as (keyof PolicySpec)[];
  return names.every((name) => a[name] === b[name]);
}

function apply(meter: Meter, op: Exclude<Op, ["reset"]>): Outcome {
  if (op[0] === "take") return meter.decide(op[1], true);
  if (op[0] === "peek") return meter.decide(op[1], false);
  meter.refund(op[1]);
  return meter.decide(1, false);
}
