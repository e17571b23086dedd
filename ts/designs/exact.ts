import type { Bounds, Op } from "../contract.ts";
import { requireInteger, requireKnown } from "../errors.ts";
import type { Durability } from "../ledger/messages.ts";
import { addressesOf } from "../link/address.ts";
import { AtLedger } from "./at-ledger.ts";
import { type Answer, type Design, type Holder, type HolderContext, remoteOf } from "./design.ts";

export interface ExactOptions {
  /**
   * Keys whose refusals are remembered until they end, so that they cost no round trip; 10,000
   * unless given, 0 for none. What another limiter refunds or resets is not seen until then.
   */
  denialsMax?: number;
}

/**
 * Every decision is taken at the key's ledger.
 *
 * Safety: none above the limit, over any number of PoPs (`test/linear/history.test.ts`).
 * Loss: a PoP that cannot reach the ledger cannot decide, and does what onUnreachable says.
 * Cost: one round trip, shared by all calls on the key that come while another is under way.
 *
 * @throws {RangeError} an option is out of range or unknown
 */
export function exact(options: ExactOptions = {}): Design {
  requireKnown("exact", options, ["denialsMax"]);
  const denialsMax = requireInteger("denialsMax", options.denialsMax ?? 10_000, 0, 10_000_000);
  return { kind: "exact", needsLink: true, takesPlans: true, hold: (context) => new ExactHolder(context, denialsMax) };
}

class ExactHolder implements Holder {
  readonly #addressOf: (key: string) => string;
  readonly #durability: Durability;
  readonly #ledger: AtLedger;

  constructor(context: HolderContext, denialsMax: number) {
    const remote = remoteOf(context, "exact");
    this.#addressOf = addressesOf(context.name);
    this.#durability = remote.link.durability;
    this.#ledger = new AtLedger(context, remote, denialsMax);
  }

  async ask(key: string, op: Op): Promise<Answer> {
    const address = this.#addressOf(key);
    return (op[0] === "take" && this.#ledger.refusal(address, op[1])) || this.#ledger.ask(address, op);
  }

  bounds(): Bounds {
    const { crash, commits } = this.#ledger;
    const durability = this.#durability;
    // What is reserved in a plan is stored at once, whatever the durability.
    const own = durability.mode === "strict" ? 1 : durability.mode === "reserve" ? 1 / durability.chunk : 0;
    return {
      overshoot: 0,
      stranded: 0,
      stalenessMs: 0,
      roundTripsPerAdmit: 1,
      writesPerAdmit: own + commits - 1,
      crash,
    };
  }

  stats(): Record<string, number> {
    return this.#ledger.stats;
  }

  async close(): Promise<void> {
    this.#ledger.close();
  }
}
