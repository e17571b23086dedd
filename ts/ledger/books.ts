import type { KeyState, Policy } from "../contract.ts";
import type { Meter } from "../core/meter.ts";

/** A key under one policy: what its meter keeps, and tokens admitted that it has yet to pay for. */
export interface Account {
  key: KeyState;
  debt: number;
}

/** Loads the account as it is at `at`: a debt is paid as soon as there is anything. Returns what is left of it. */
export function loadAccount(meter: Meter, policy: Policy, { key, debt }: Account, at: number): number {
  const period = untilWholeMs(policy);
  let paid = key;
  let owed = debt;
  // A budget can't pay more than itself at once: those that were whole meanwhile pay one by one.
  for (let whole = key.at + period; owed > 0 && whole < at; whole += period) {
    meter.load(policy, paid, whole);
    owed = book(meter, owed);
    paid = meter.save();
  }
  meter.load(policy, paid, at);
  return book(meter, owed);
}

/** Counts `tokens` as used, as far as there are any left; returns those that there are not. */
export function book(meter: Meter, tokens: number): number {
  if (tokens <= 0 || meter.decide(tokens, true)) return 0;
  const { remaining } = meter;
  if (remaining > 0) meter.decide(remaining, true);
  return tokens - remaining;
}

/** Ms in which an empty budget becomes whole. */
export function untilWholeMs({ spec, constants }: Policy): number {
  if (spec.kind === "tokenBucket") return Math.ceil((constants[2] as number) / (constants[0] as number));
  return spec.kind === "fixedWindow" ? spec.window : spec.window + spec.resolution;
}
