// Takes that may be given back.
//
// Giving back is where a limit is easily broken. What was taken may have been refilled since:
// then the budget is what it would be without the take, and whoever gives tokens back as well
// lets twice as many through. So no more is given back than is still missing for them.
import type { Decision, Key, Limiter, Policy } from "./contract.ts";
import { encodeKey } from "./key.ts";

export type TakeSource = Pick<Limiter, "policiesOf" | "ambient" | "limit" | "refund">;

/** A take, and what giving it back needs to know. */
export interface Taken {
  key: Key;
  cost: number;
  decision: Decision;
  /** Monotonic ms, from before it was asked for: the ledger decided no earlier. */
  askedAt: number;
  /** Epoch ms, when the answer came; the decision's `reset` counts from here. */
  answeredAt: number;
  /** The key's account, and what had been given back to it when this was asked for. */
  account: Account;
  before: number;
  /** To be called once, when it is settled. */
  close(): void;
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
    const address = encodeKey(key);
    const account = this.#accounts.get(address) ?? { open: 0, givenBack: 0 };
    this.#accounts.set(address, account);
    account.open++;
    const close = () => {
      if (--account.open === 0) this.#accounts.delete(address);
    };
    const before = account.givenBack;
    const askedAt = this.#source.ambient.monotonic();
    try {
      const decision = await this.#source.limit(key, { cost });
      return { key, cost, decision, askedAt, answeredAt: this.#source.ambient.now(), account, before, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  /**
   * Gives back `count` of the tokens taken, or as many as are still missing for them; returns how
   * many. What this limiter has given back to the key meanwhile is missing no more. What others
   * have is not known here: that can let through as much again, up to this count.
   */
  async giveBack(taken: Taken, count: number): Promise<number> {
    const { decision, account } = taken;
    // A fallback took nothing from any ledger.
    if (!decision.success || decision.source === "fallback") return 0;
    const elapsedMs = this.#source.ambient.monotonic() - taken.askedAt;
    const missing = this.#source
      .policiesOf(taken.key)
      .map((policy, index) => stillMissing(policy, decision.each?.[index] ?? decision, taken, elapsedMs));
    const back = Math.min(count, ...missing);
    if (back <= 0) return 0;
    account.givenBack += back;
    await this.#source.refund(taken.key, back);
    return back;
  }
}

/** How many of a take's tokens the policy can't have let through again by itself in the time since. */
function stillMissing(
  { spec }: Policy,
  { remaining, reset }: Pick<Decision, "remaining" | "reset">,
  { cost, answeredAt, account, before }: Taken,
  elapsedMs: number,
): number {
  // A window forgets a take all at once: when it ends, or a window's length after the take.
  if (spec.kind !== "tokenBucket") return elapsedMs < reset - answeredAt ? cost : 0;
  // A bucket refills what was missing beside the take first, and so does what is given back.
  const missing = Math.max(cost, spec.burst - remaining - 1);
  const refilled = (elapsedMs * spec.rate) / spec.per + account.givenBack - before;
  return Math.max(0, Math.floor(missing - refilled));
}
