import type { KeyState, Op } from "../contract.ts";
import { Meter } from "../core/meter.ts";
import type { Answer, Design } from "./design.ts";

/**
 * One process decides alone, at once and without a promise.
 *
 * Safety: never above the limit within this process. Loss: whatever other processes admit.
 */
export function local(): Design {
  return {
    kind: "local",
    needsLink: false,
    hold({ policies, instantiate }) {
      const policy = policies[0]!;
      const meter = new Meter(instantiate());
      const states = new Map<string, KeyState>();
      const askSync = (address: string, op: Op, now: number): Answer => {
        meter.load(policy, op[0] === "reset" ? null : (states.get(address) ?? null), now);
        if (op[0] === "refund") meter.refund(op[1]);
        const looks = op[0] === "refund" || op[0] === "reset";
        const admitted = meter.decide(looks ? 1 : op[1], op[0] === "take");
        const { remaining, retryAfterMs, resetMs } = meter;
        if (op[0] !== "peek") states.set(address, meter.save());
        return { admitted, remaining, retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs, resetMs, source: "local" };
      };
      return {
        askSync,
        ask: async (address, op, now) => askSync(address, op, now),
        bounds: ({ pops }) => ({
          overshoot: (pops - 1) * policy.capacity,
          stranded: 0,
          stalenessMs: 0,
          roundTripsPerAdmit: 0,
          writesPerAdmit: 0,
          crash: { overshoot: policy.capacity, lost: 0 },
        }),
        stats: () => ({}),
        close: async () => states.clear(),
      };
    },
  };
}
