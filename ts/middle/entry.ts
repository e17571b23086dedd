import { grant, settle } from "../ledger/leases.ts";
import { Load } from "../ledger/load.ts";
import { type LedgerReply, type LedgerRequest, OUTCOME_CELLS } from "../ledger/messages.ts";
import type { Delivery } from "../link/lane.ts";
import type { Pool } from "./pool.ts";

/** What is remembered of a holder's last request, so that a retry changes nothing. */
export interface Heard {
  seq: number;
  /** When it came, monotonic ms. */
  at: number;
  /** What was asked for the key of late, when it came. */
  load: number | undefined;
  /** The outcome of each op; null: home has yet to say. */
  outcomes: (readonly number[] | null)[];
  /** The answer, or that it is being worked on; null: home didn't say, and may be asked again. */
  reply: Promise<LedgerReply> | null;
}

/** A refusal from home. */
interface Refusal {
  cost: number;
  sentAt: number;
  until: number;
  cells: readonly number[];
}

/** A key at a middle ledger. */
export class Entry {
  readonly pool: Pool;
  readonly heard = new Map<string, Heard>();
  readonly load = new Load();
  #refusal: Refusal | null = null;
  readonly #policies: number;

  constructor(pool: Pool, policies: number) {
    this.pool = pool;
    this.#policies = policies;
  }

  /** What it says to a call by itself; null: home must be asked. */
  atHand(cost: number, commit: boolean, now: number): readonly number[] | null {
    const { pool } = this;
    if (commit ? pool.take(cost) : pool.free() >= cost) return this.#alike(1, pool.free(), 0, pool.resetMs(now));
    const startsInMs = pool.waitFor(cost);
    if (pool.later > 0 && startsInMs !== null) return this.#soon(startsInMs, now);
    return this.#refused(cost, now);
  }

  /** The outcome that home gave, in as many cells as the request has policies. */
  fromHome(cost: number, { reply, index, sentAt }: Delivery, isTake: boolean): readonly number[] {
    const cells = this.#cellsAt(reply, index);
    if (isTake && !admits(cells)) this.#remember(cost, sentAt, cells);
    return cells;
  }

  /** Someone gave budget back. */
  forgetRefusal(): void {
    this.#refusal = null;
  }

  /** The answer, with a lease if one was asked for and the holder hasn't asked anew meanwhile. */
  reply(request: LedgerRequest, heard: Heard, now: number): LedgerReply {
    const reply: LedgerReply = { v: 1, outcomes: heard.outcomes.flatMap((cells) => cells ?? []) };
    if (heard.load !== undefined) reply.load = heard.load;
    if (!request.sync || this.heard.get(request.holder) !== heard) return reply;
    this.pool.forfeitEnded(now);
    const { leases, reply: lease } = grant(
      this.pool,
      settle(this.pool, this.pool.leases, request, now),
      request,
      request.sync,
      now,
    );
    this.pool.leases = leases;
    reply.lease = lease;
    return reply;
  }

  #soon(startsInMs: number, now: number): readonly number[] {
    const retryAfterMs = Math.max(Math.ceil(startsInMs), 1);
    return this.#alike(0, 0, retryAfterMs, Math.max(this.pool.resetMs(now), retryAfterMs));
  }

  #refused(cost: number, now: number): readonly number[] | null {
    const refusal = this.#refusal;
    if (!refusal || cost < refusal.cost || now >= refusal.until) return null;
    const elapsedMs = Math.floor(now - refusal.sentAt);
    return refusal.cells.map((cell, at) => {
      const nth = at % OUTCOME_CELLS;
      if (nth === 0) return cell;
      if (nth === 1) return 0;
      return cell < 0 ? cell : Math.max(cell - elapsedMs, 0);
    });
  }

  #remember(cost: number, sentAt: number, cells: readonly number[]): void {
    const waits = cells.filter((_, at) => at % OUTCOME_CELLS === 2);
    if (waits.includes(-1)) return;
    this.#refusal = { cost, sentAt, until: sentAt + Math.max(...waits), cells };
  }

  #alike(...cells: number[]): number[] {
    return Array.from({ length: this.#policies }, () => cells).flat();
  }

  /** Home may have decided by other policies than the request's for a while: then by the worst of them. */
  #cellsAt({ outcomes, policies }: LedgerReply, index: number): readonly number[] {
    const count = policies?.length ?? this.#policies;
    const cells = outcomes.slice(index * count * OUTCOME_CELLS, (index + 1) * count * OUTCOME_CELLS);
    if (count === this.#policies) return cells;
    const each = (nth: number) => cells.filter((_, at) => at % OUTCOME_CELLS === nth);
    const retries = each(2);
    const retryAfterMs = retries.includes(-1) ? -1 : Math.max(...retries);
    return this.#alike(Math.min(...each(0)), Math.min(...each(1)), retryAfterMs, Math.max(...each(3)));
  }
}

/** Whether every policy admits the call. */
export function admits(cells: readonly number[]): boolean {
  return cells.every((cell, at) => at % OUTCOME_CELLS > 0 || cell === 1);
}
