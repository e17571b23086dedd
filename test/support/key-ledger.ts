import type { PolicySpec } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { Meter } from "../../ts/core/meter.ts";
import { type LeaseReply, type LeaseRequest, PEEK } from "../../ts/ledger/messages.ts";
import type { Meters } from "../../ts/ledger/run.ts";
import { type HolderState, type LedgerState, parseState } from "../../ts/ledger/state.ts";
import { step } from "../../ts/ledger/step.ts";

const core = instantiate();
const made: Meter[] = [];
const meters: Meters = (index) => {
  made[index] ??= new Meter(core);
  return made[index];
};
export const DAY = 86_400_000;
export const START = 20_000 * DAY;

/** A key's ledger, asked by several holders. */
export class Ledger {
  state: LedgerState | null = null;
  now = START;
  readonly #policies: PolicySpec[];
  readonly #holders = new Map<string, HolderState>();
  #seq = 0;

  constructor(...policies: PolicySpec[]) {
    this.#policies = policies;
  }

  ask(holder: string, sync?: Partial<LeaseRequest>, ops: number[] = [], seq = ++this.#seq) {
    const request = { v: 1 as const, holder, seq, policies: this.#policies, ops };
    const full = sync && { ...request, sync: { used: 0, held: 0, later: 0, ask: 0, ttlMs: 1000, ...sync } };
    const result = step(meters, this.state, this.#holders.get(holder), full ?? request, this.now);
    if (!result.replayed) {
      // Either of them says what a retry is answered.
      const before = seq % 2 === 0 ? { before: this.state } : { before: null, reply: result.reply };
      this.#holders.set(holder, { seq, at: this.now, ...before });
    }
    this.state = result.state && parseState(JSON.stringify(result.state));
    return { ...result, seq, lease: result.reply.lease as LeaseReply };
  }

  /** What is left for a take. */
  get free(): number {
    return Math.min(...this.ask("looker", undefined, [PEEK, 1]).reply.outcomes.filter((_, cell) => cell % 4 === 1));
  }

  get leased(): number {
    return (this.state?.leases ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
  }
}
