import { LimiterError } from "../errors.ts";
import type { Answer, Design } from "./design.ts";

/**
 * Every decision is taken at the key's ledger.
 *
 * Safety: none above the limit, over any number of PoPs. Loss: a PoP that cannot reach the
 * ledger cannot decide. Cost: one round trip and one commit per admit.
 */
export function exact(): Design {
  return {
    kind: "exact",
    needsLink: true,
    hold({ policy, link }) {
      return {
        async ask(address, op): Promise<Answer> {
          if (!link) throw new LimiterError("unsupported", "exact() needs a link");
          const { outcomes } = await link.ask(address, { v: 1, policy: policy.spec, ops: [op] });
          const outcome = outcomes[0];
          if (!outcome) throw new LimiterError("protocol", "the ledger's reply holds no outcome");
          return { ...outcome, source: "ledger" };
        },
        close: async () => {},
      };
    },
  };
}
