import { Meter } from "../core/meter.ts";
import { type LedgerState, step } from "../ledger/step.ts";
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
    hold({ policy, instantiate }) {
      const meter = new Meter(instantiate());
      const states = new Map<string, LedgerState>();
      const askSync = (address: string, op: Parameters<typeof step>[3]["ops"][number], now: number): Answer => {
        const before = states.get(address) ?? null;
        const { state, reply, changed } = step(meter, policy, before, { v: 1, policy: policy.spec, ops: [op] }, now);
        if (changed && state) states.set(address, state);
        else if (changed) states.delete(address);
        return { ...(reply.outcomes[0] as Answer), source: "local" };
      };
      return {
        askSync,
        ask: async (address, op, now) => askSync(address, op, now),
        close: async () => states.clear(),
      };
    },
  };
}
