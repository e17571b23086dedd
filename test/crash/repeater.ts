import type { LedgerReply, LedgerRequest } from "../../ts/ledger/messages.ts";
import type { Budget } from "./budgets.ts";
import type { Host } from "./host.ts";

/** Tokens of the ledger that is asked; more than are ever taken. */
const PLENTY = 50_000;
const POLICY = { kind: "tokenBucket", rate: 1, per: 365 * 86_400_000, burst: PLENTY } as const;

interface Caller {
  holder: string;
  seq: number;
  /** The request that has no answer yet. */
  pending: LedgerRequest | null;
  last: { request: LedgerRequest; reply: LedgerReply } | null;
}

/** Where a life of the host stands. */
export interface Moment {
  /** Whether it is being ended. */
  readonly killing: boolean;
  /** Counts an admit. */
  admitted(): void;
}

/**
 * Callers that ask a ledger for one token at a time, and repeat after a crash what was under way
 * in it: then not one token may be missing in the end, and not one given out twice.
 */
export class Repeater {
  /** Requests that have had an answer, each counted once. */
  answered = 0;
  /** Requests repeated after a crash: those that had no answer, and those that had one. */
  retried = 0;
  replayed = 0;
  /** Requests that had another answer when they were repeated. */
  changed = 0;
  /** Tokens that more than one request was given. */
  doubled = 0;
  /** Tokens that the ledger has charged, as it says in the end. */
  charged = 0;
  readonly strange: unknown[] = [];
  readonly #budget: Budget;
  readonly #callers: Caller[];
  readonly #given = new Set<number>();

  constructor(budget: Budget, callers: number) {
    this.#budget = budget;
    this.#callers = Array.from({ length: callers }, (_, nth) => ({
      holder: `caller ${nth}`,
      seq: 0,
      pending: null,
      last: null,
    }));
  }

  /** Before the load: repeats what was asked last before the crash, if any. */
  async begin(host: Host): Promise<void> {
    for (const caller of this.#callers) {
      if (caller.pending) {
        this.retried++;
        await this.#ask(host, caller);
      } else if (caller.last) {
        this.replayed++;
        const { request, reply } = caller.last;
        if (decidedIn(await this.#send(host, request)) !== decidedIn(reply)) this.changed++;
      }
    }
    // The first asks once, and then rests: of its request it is known that it had an answer.
    await this.#ask(host, this.#callers[0] as Caller);
  }

  /** Those who ask on until the host is gone. */
  get busy(): Caller[] {
    return this.#callers.slice(1);
  }

  /** Asks on until the host is gone. */
  async askOn(host: Host, caller: Caller, moment: Moment): Promise<void> {
    while (!moment.killing) {
      try {
        await this.#ask(host, caller);
        moment.admitted();
      } catch (error) {
        if (!moment.killing) this.strange.push(error);
        return;
      }
    }
  }

  /** At the end: what the ledger has charged. */
  async look(host: Host): Promise<void> {
    const reply = await this.#send(host, { v: 1, holder: "looker", seq: 1, policies: [POLICY], ops: [1, 1] });
    this.charged = PLENTY - (reply.outcomes[1] as number);
  }

  async #ask(host: Host, caller: Caller): Promise<void> {
    const { holder } = caller;
    const request = caller.pending ?? { v: 1, holder, seq: ++caller.seq, policies: [POLICY], ops: [0, 1] };
    caller.pending = request;
    const reply = await this.#send(host, request);
    caller.pending = null;
    caller.last = { request, reply };
    const [admitted, token = -1] = reply.outcomes;
    if (admitted !== 1) this.strange.push(reply);
    if (this.#given.has(token)) this.doubled++;
    this.#given.add(token);
    this.answered++;
  }

  async #send(host: Host, request: LedgerRequest): Promise<LedgerReply> {
    const url = new URL(`ask?budget=${this.#budget}`, host.url);
    return (await (await fetch(url, { method: "POST", body: JSON.stringify(request) })).json()) as LedgerReply;
  }
}

/** A reply but for the ledger's load, which is of the moment. */
function decidedIn({ load: _, ...decided }: LedgerReply): string {
  return JSON.stringify(decided);
}
