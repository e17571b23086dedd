// Takes that may be given back.
//
// Giving back is where a limit is easily broken. What was taken may have been refilled since:
// then the budget is what it would be without the take, and whoever gives tokens back as well
// lets twice as many through. So no more is given back than is still missing for them.
import type { Decision, Key, Limiter, Policy } from "./contract.ts";
import { encodeKey } from "./key.ts";

export type TakeSource = Pick<Limiter, "policiesOf" | "ambient" | "limit" | "refund">;

/** A take, and how to undo it. */
export interface Taken {
  decision: Decision;
  /** To be called once, when it is settled. */
  close(): void;
  /**
   * Gives back `count` of the tokens taken, or as many as are still missing for them; returns how
   * many. What this limiter has given back to the key meanwhile is missing no more. What others
   * have is not known here: that can let through as much again, up to this count.
   */
  giveBack(count: number): Promise<number>;
}

/** What is given back to a key while takes on it are open. */
interface Account {
  open: number;
  givenBack: number;
}

/** The takes of one limiter. */
export class Takes {
  readonly #source: TakeSource;
  readonly #accounts = new Map<string, Account>();

  constructor(source: TakeSource) {
    this.#source = source;
  }

  /** Takes `cost` tokens. @throws {RangeError} bad key or cost */
  async take(key: Key, cost: number): Promise<Taken> {
    const source = this.#source;
    const { ambient } = source;
    const address = encodeKey(key);
    const account = this.#accounts.get(address) ?? { open: 0, givenBack: 0 };
    this.#accounts.set(address, account);
    account.open++;
    const close = () => {
      if (--account.open === 0) this.#accounts.delete(address);
    };
    const before = account.givenBack;
    // The ledger decided no earlier than it was asked, and `reset` counts from the answer.
    const askedAt = ambient.monotonic();
    let decision: Decision;
    let answeredAt: number;
    try {
      decision = await source.limit(key, { cost });
      answeredAt = ambient.now();
    } catch (error) {
      close();
      throw error;
    }

    /** How many of the tokens the policy can't have let through again by itself in the time since. */
    function stillMissing({ spec }: Policy, index: number): number {
      const elapsedMs = ambient.monotonic() - askedAt;
      const { remaining, reset } = decision.each?.[index] ?? decision;
      // A window forgets a take all at once: when it ends, or a window's length after the take.
      if (spec.kind !== "tokenBucket") return elapsedMs < reset - answeredAt ? cost : 0;
      // A bucket refills what was missing beside the take first, and so does what is given back.
      const isLevel = decision.source === "local" || decision.source === "ledger";
      const missing = isLevel ? Math.max(cost, spec.burst - remaining - 1) : cost;
      const refilled = (elapsedMs * spec.rate) / spec.per + account.givenBack - before;
      return Math.max(0, Math.floor(missing - refilled));
    }

    async function giveBack(count: number): Promise<number> {
      // A fallback took nothing from any ledger.
      if (!decision.success || decision.source === "fallback") return 0;
      const back = Math.min(count, ...source.policiesOf(key).map(stillMissing));
      if (back <= 0) return 0;
      account.givenBack += back;
      await source.refund(key, back);
      return back;
    }

    return { decision, close, giveBack };
  }
}
