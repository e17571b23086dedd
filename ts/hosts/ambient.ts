import type { Platform } from "../contract.ts";

/** What every JavaScript platform has in common. Nothing here is touched at import. */
export const ambient: Platform = {
  clock: { now: () => Date.now() },
  random: (bytes) => {
    crypto.getRandomValues(bytes);
  },
};
