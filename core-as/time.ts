// The table's time. A token bucket's numbers are exact only while the ticks since their epoch
// stay below 2^51, so the table has an epoch of its own, which moves on every `span` ms; the
// entries of a group follow when the group is next touched (group.ts). Windows count from the
// Unix epoch.
import { TOKEN_BUCKET } from "../ts/core/abi";
import { kind, policy, wholeAt } from "./entry";

/** How many times the epoch has moved, modulo EPOCHS: a span is 6 days or more, so that is 139 years. */
export let epoch: u32 = 0;
export const EPOCHS: u32 = 8192;
/** Ms from one epoch to the next. */
export let span: f64 = Infinity;
/** When the epoch was, epoch ms. */
let base: f64 = 0;

/** The time of the call, ms as the policy counts them. */
export let now: f64 = 0;

export function defineTime(): void {
  if (kind != TOKEN_BUCKET) return;
  span = Math.floor(1125899906842624 / policy[0]);
  base = -Infinity;
}

/** Sets the time, epoch ms; never less than the last. */
export function setNow(epochMs: f64): void {
  now = epochMs - base;
  if (now >= span) moveOn(epochMs);
  wholeAt(now);
}

function moveOn(epochMs: f64): void {
  if (base < 0) {
    base = epochMs;
  } else {
    const spans = Math.floor(now / span);
    const moved = <f64>epoch + spans;
    // Not by %, which WASM has not for f64.
    epoch = <u32>(moved - Math.floor(moved / EPOCHS) * EPOCHS);
    base += spans * span;
  }
  now = epochMs - base;
}
