import type { Link } from "../designs/link.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import type { LedgerRequest, Ledgers } from "../ledger/messages.ts";

/** The last word that a holder has heard over its link, and how old that is. */
export class LastWord {
  readonly #now: () => number;
  /** When each request was first sent: a retry has the same answer. */
  readonly #asked = new Map<string, number>();
  #heard = Number.NaN;

  /** @param now  the true time, ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A link to those ledgers whose answers are listened to. */
  over(ledgers: Ledgers & { at?(place: string): Ledgers }): Link {
    const { at } = ledgers;
    return {
      ...overLedgers,
      ...ledgers,
      ask: (address, request) => {
        const name = nameOf(request);
        if (!this.#asked.has(name)) this.#asked.set(name, this.#now());
        const answer = ledgers.ask(address, request);
        answer.then(
          () => this.#hear(name),
          () => {},
        );
        return answer;
      },
      ...(at && { at: (place: string) => this.over(at(place)) }),
    };
  }

  /** Ms since the request was sent that it answered, which is no less than its age; 0: there is none. */
  get ageMs(): number {
    return Number.isNaN(this.#heard) ? 0 : this.#now() - this.#heard;
  }

  #hear(name: string): void {
    const asked = this.#asked.get(name) as number;
    this.#heard = Number.isNaN(this.#heard) ? asked : Math.max(this.#heard, asked);
  }
}

const nameOf = ({ holder, seq }: LedgerRequest) => `${holder} ${seq}`;
