import { LimiterError } from "../errors.ts";
import type { Durability, LedgerReply, LedgerRequest, Ledgers } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { Middle } from "../middle/middle.ts";
import type { Machine } from "./clocks.ts";
import type { Network } from "./network.ts";
import type { World } from "./world.ts";

const DEADLINE_MS = 400;

/** What middle ledgers are made of. */
export interface MiddleHostOptions {
  world: World;
  /** A new machine, with a clock of its own. */
  machine(): Machine;
  toHome: Network;
  home(address: string, request: LedgerRequest): Promise<LedgerReply> | null;
  durability: Durability;
  toMiddles: Network;
  /** Is told of each take that a middle ledger admits by itself: an id of its own, and the cost. */
  tookAt(who: string, cost: number): void;
}

/** The real middle ledgers, one at each place that anyone asks for. They can be killed. */
export class MiddleHosts {
  /** Requests that came in. */
  requests = 0;
  readonly #options: MiddleHostOptions;
  readonly #running = new Map<string, { machine: Machine; middle: Middle } | null>();
  #nth = 0;

  constructor(options: MiddleHostOptions) {
    this.#options = options;
  }

  /** Between holders and them. */
  get network(): Network {
    return this.#options.toMiddles;
  }

  get places(): string[] {
    return [...this.#running.keys()];
  }

  /** A holder's way to the middle ledger at that place. */
  link(holder: number, place: string): Ledgers {
    if (!this.#running.has(place)) this.#start(place);
    const { toMiddles, durability } = this.#options;
    return {
      durability,
      ask: (address, request) => toMiddles.carry(holder, request, (received) => this.#serve(place, address, received)),
    };
  }

  /** Kills one of them, with all that it held; another one takes its place after `downMs`. */
  crash(downMs: number): void {
    const { world } = this.#options;
    const { places } = this;
    const place = places[world.pick(places.length)];
    const running = place === undefined ? null : this.#running.get(place);
    if (!running || place === undefined) return;
    running.machine.dead = true;
    this.#running.set(place, null);
    world.after(downMs, () => this.#start(place));
  }

  #serve(place: string, address: string, request: LedgerRequest): Promise<LedgerReply> | null {
    const running = this.#running.get(place);
    if (!running) return null;
    this.requests++;
    return new Promise((resolve, reject) => {
      const answer = (reply: LedgerReply) => {
        // Who was killed meanwhile says nothing.
        if (running.machine.dead) reject(new LimiterError("unreachable", "connection reset"));
        else resolve(reply);
      };
      running.middle.ask(address, request).then(answer, (error) => answer(errorReply(error)));
    });
  }

  #start(place: string): void {
    const { toHome, home, durability, tookAt } = this.#options;
    const machine = this.#options.machine();
    const life = this.#nth++;
    const middle = new Middle({
      home: {
        durability,
        ask: (address, request) =>
          toHome.carry(place, request, (received) => (machine.dead ? null : home(address, received))),
      },
      ambient: machine,
      deadlineMs: DEADLINE_MS,
      tookAt: ({ holder, seq, ops }, op) => tookAt(`${life} ${holder} ${seq} ${op}`, ops[2 * op + 1] as number),
    });
    this.#running.set(place, { machine, middle });
  }
}
