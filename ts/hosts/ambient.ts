import type { Ambient } from "../contract.ts";

/** Timers that are set for longer go off at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What every JavaScript platform has in common. Nothing here is touched at import. */
export const ambient: Ambient = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(ms, callback) {
    const wait = (left: number) =>
      setTimeout(
        () => {
          if (left > TIMER_MS_MAX) timer = wait(left - TIMER_MS_MAX);
          else callback();
        },
        Math.min(left, TIMER_MS_MAX),
      );
    let timer = wait(ms);
    return () => clearTimeout(timer);
  },
  random: (bytes) => void crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>),
};
