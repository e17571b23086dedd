import type { Ambient } from "../contract.ts";

/** What every JavaScript platform has in common. Nothing here is touched at import. */
export const ambient: Ambient = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  random: (bytes) => void crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>),
};
