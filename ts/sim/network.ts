import { LimiterError } from "../errors.ts";
import type { LedgerReply, LedgerRequest } from "../ledger/messages.ts";
import type { World } from "./world.ts";

/** What a network does to messages. */
export interface NetworkFaults {
  /** Least time from one end to the other, ms. */
  delayMs: number;
  /** Mean of what is added to that, exponential: messages overtake each other. */
  jitterMs: number;
  /** Shares of messages that vanish, and that arrive twice. */
  loss: number;
  duplication: number;
}

type Direction = "there" | "back";

/** The ways between holders and the ledger, each of which can be cut, also in one direction. */
export class Network {
  readonly #world: World;
  readonly #faults: NetworkFaults;
  readonly #cuts = new Map<string, number>();
  #healed = false;

  constructor(world: World, faults: NetworkFaults) {
    this.#world = world;
    this.#faults = faults;
  }

  /** Cuts a holder off for `ms`: both ways, or one. */
  cut(holder: number | string, directions: readonly Direction[], ms: number): void {
    for (const direction of directions) {
      const way = `${holder} ${direction}`;
      this.#cuts.set(way, Math.max(this.#cuts.get(way) ?? 0, this.#world.now + ms));
    }
  }

  /** Ends all faults but the delay. */
  heal(): void {
    this.#healed = true;
    this.#cuts.clear();
  }

  /** Carries a request to `serve` and the reply back. What is lost is never heard of, or an error. */
  carry(
    holder: number | string,
    request: LedgerRequest,
    serve: (request: LedgerRequest) => Promise<LedgerReply> | null,
  ): Promise<LedgerReply> {
    return new Promise((resolve, reject) => {
      const lost = () => {
        // Some networks say so, others don't.
        if (this.#world.random() < 0.5) return;
        this.#world.after(this.#delay(), () => reject(new LimiterError("unreachable", "connection reset")));
      };
      const text = JSON.stringify(request);
      this.#send(holder, "there", lost, () => {
        const served = serve(JSON.parse(text));
        if (!served) return lost();
        served.then((reply) => {
          const answer = JSON.stringify(reply);
          this.#send(holder, "back", lost, () => resolve(JSON.parse(answer)));
        }, reject);
      });
    });
  }

  #send(holder: number | string, direction: Direction, lost: () => void, arrive: () => void): void {
    const cutUntil = this.#cuts.get(`${holder} ${direction}`) ?? 0;
    if (cutUntil > this.#world.now || this.#happens(this.#faults.loss)) {
      lost();
      return;
    }
    this.#world.after(this.#delay(), arrive);
    if (this.#happens(this.#faults.duplication)) this.#world.after(this.#delay() + this.#world.exponential(50), arrive);
  }

  #happens(share: number): boolean {
    return !this.#healed && share > 0 && this.#world.random() < share;
  }

  #delay(): number {
    const { delayMs, jitterMs } = this.#faults;
    return delayMs + (jitterMs > 0 ? this.#world.exponential(jitterMs) : 0);
  }
}
