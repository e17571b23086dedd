import type { Bounds, Op } from "../contract.ts";
import type { Answer, ExactDesign } from "../designs/design.ts";
import type { Durability } from "../ledger/messages.ts";
import { addressesOf } from "../link/address.ts";
import { AtLedger } from "./at-ledger.ts";
import type { Holder, HolderContext } from "./holder.ts";

/** Asks the key's ledger for every decision: the half of exact() in this process. */
export class ExactHolder implements Holder {
  readonly #addressOf: (key: string) => string;
  readonly #durability: Durability;
  readonly #ledger: AtLedger;

  constructor(context: HolderContext, { denialsMax }: ExactDesign) {
    this.#addressOf = addressesOf(context.name);
    this.#durability = context.link.durability;
    this.#ledger = new AtLedger(context, denialsMax);
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

  close(): Promise<void> {
    return this.#ledger.close();
  }
}
