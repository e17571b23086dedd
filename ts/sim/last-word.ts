import type { Link } from "../ledger/messages.ts";

/** The last word that a holder has heard over its link, and how old that is. */
export class LastWord {
  readonly #now: () => number;
  /** When each request was first sent: a retry has the same answer. */
  readonly #asked = new Map<number, number>();
  #heard = Number.NaN;

  /** @param now  the true time, ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A link whose answers are listened to. */
  over<Some extends Link>(link: Some): Some {
    return {
      ...link,
      ask: (address, request) => {
        if (!this.#asked.has(request.seq)) this.#asked.set(request.seq, this.#now());
        const answer = link.ask(address, request);
        answer.then(
          () => this.#hear(request.seq),
          () => {},
        );
        return answer;
      },
    };
  }

  /** Ms since the request was sent that it answered, which is no less than its age; 0: there is none. */
  get ageMs(): number {
    return Number.isNaN(this.#heard) ? 0 : this.#now() - this.#heard;
  }

  #hear(seq: number): void {
    const asked = this.#asked.get(seq) as number;
    this.#heard = Number.isNaN(this.#heard) ? asked : Math.max(this.#heard, asked);
  }
}
