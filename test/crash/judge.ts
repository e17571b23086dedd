// Judges a host from outside: what it acknowledged before it was killed must be true afterwards.
//
// No token comes back within a test, so that `remaining` numbers the tokens: a ledger that has
// more left after a crash than it told anyone before has forgotten an admit that it acknowledged.
import type { Decision } from "../../ts/contract.ts";
import { seeded } from "../support/fake-ambient.ts";
import { type Budget, LIMIT } from "./budgets.ts";
import type { Host, Start } from "./host.ts";
import { type Moment, Repeater } from "./repeater.ts";

/** What one budget's callers saw in one life of the host. */
interface Life {
  /** Admits that were acknowledged. */
  acknowledged: number;
  /** Calls that were under way when it ended. */
  unanswered: number;
  /** Tokens left as the callers were told, at least. */
  told: number;
}

/** A life that a crash ended. */
export interface Crash extends Life {
  /** Tokens left as the ledger said when it was back. */
  left: number;
}

/** What one budget's callers saw. */
export interface Tally {
  /** Admits that were acknowledged, in all lives. */
  acknowledged: number;
  life: Life;
  crashes: Crash[];
  /** What should not have been answered, and calls that failed without a crash. */
  strange: unknown[];
}

export type Taken = "strict" | "reserve" | "lazy" | "hasty";
export type Asked = "strict" | "forgetful";

export interface Verdict {
  taken: Record<Taken, Tally>;
  /** By what callers asked who repeat themselves. */
  asked: Record<Asked, Repeater>;
}

export interface JudgeOptions {
  start: Start;
  /** Where the host keeps its ledgers. */
  folder: string;
  /** Crashes. */
  rounds: number;
  seed: number;
}

const TAKERS = 8;

/** Kills the host in mid-load, round after round; one more round ends when all is refused. */
export async function judge({ start, folder, rounds, seed }: JudgeOptions): Promise<Verdict> {
  const random = seeded(seed);
  const tally = (): Tally => ({ acknowledged: 0, life: newLife(LIMIT), crashes: [], strange: [] });
  const taken = { strict: tally(), reserve: tally(), lazy: tally(), hasty: tally() };
  const asked = { strict: new Repeater("strict", 5), forgetful: new Repeater("forgetful", 1) };
  const repeaters = Object.values(asked);
  for (let round = 1; round <= rounds + 1; round++) {
    const host = await start(folder);
    try {
      const load = new Load(host);
      for (const [budget, tally] of Object.entries(taken)) {
        const { remaining } = await get(host, "left", budget as Budget);
        if (round > 1) tally.crashes.push({ ...tally.life, left: remaining });
        tally.life = newLife(remaining);
      }
      for (const repeater of repeaters) await repeater.begin(host);
      if (round <= rounds) await load.untilKilled(20 + Math.floor(random() * 100), 4 * random(), taken, repeaters);
      else {
        await load.untilRefused(taken);
        for (const repeater of repeaters) await repeater.look(host);
      }
    } finally {
      await host.kill();
    }
  }
  return { taken, asked };
}

const newLife = (told: number): Life => ({ acknowledged: 0, unanswered: 0, told });

async function get(host: Host, what: "take" | "left", budget: Budget): Promise<Decision> {
  const response = await fetch(new URL(`${what}?budget=${budget}`, host.url));
  return (await response.json()) as Decision;
}

/** Calls from all sides on one life of a host. */
class Load implements Moment {
  killing = false;
  readonly #host: Host;
  #admitsLeft = Number.POSITIVE_INFINITY;
  #kill = () => {};

  constructor(host: Host) {
    this.#host = host;
  }

  /** @param delayMs  from the last of so many admits to the kill: not always just after an answer */
  async untilKilled(admits: number, delayMs: number, taken: Record<Taken, Tally>, repeaters: Repeater[]) {
    this.#admitsLeft = admits;
    const killed = new Promise<void>((resolve, reject) => {
      this.#kill = () =>
        void setTimeout(() => {
          this.killing = true;
          this.#host.kill().then(resolve, reject);
        }, delayMs);
    });
    const asking = repeaters.flatMap((repeater) =>
      repeater.busy.map((caller) => repeater.askOn(this.#host, caller, this)),
    );
    await Promise.all([...this.#takers(taken), ...asking]);
    // All was refused before so many were admitted: the round ends by a kill all the same.
    if (this.#admitsLeft > 0) this.#kill();
    await killed;
  }

  async untilRefused(taken: Record<Taken, Tally>) {
    await Promise.all(this.#takers(taken));
  }

  #takers(taken: Record<Taken, Tally>): Promise<void>[] {
    // In turn, so that no budget's takers come in front of all others.
    return Array.from({ length: TAKERS }, () => Object.entries(taken)).flatMap((budgets) =>
      budgets.map(async ([budget, tally]) => {
        while (!this.killing && (await this.#take(budget as Budget, tally)));
      }),
    );
  }

  /** One take, and whether another may be admitted as well. */
  async #take(budget: Budget, tally: Tally): Promise<boolean> {
    let decision: Decision;
    try {
      decision = await get(this.#host, "take", budget);
    } catch (error) {
      if (this.killing) tally.life.unanswered++;
      else tally.strange.push(error);
      return false;
    }
    const { success, reason, remaining } = decision;
    if (reason !== "ok" && reason !== "limited") tally.strange.push(decision);
    if (!success) return false;
    tally.acknowledged++;
    tally.life.acknowledged++;
    tally.life.told = Math.min(tally.life.told, remaining);
    this.admitted();
    return true;
  }

  admitted(): void {
    if (--this.#admitsLeft === 0) this.#kill();
  }
}
