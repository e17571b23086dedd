// Calls on the PoPs from outside, at a steady pace, each with what came of it.
import { Pool } from "undici";
import type { Decision } from "../../ts/contract.ts";
import { seeded } from "../support/fake-ambient.ts";
import { BUDGETS, type Budget } from "./budgets.ts";
import type { Span } from "./judge.ts";

/** A call and its answer; times are epoch ms. */
export interface Call extends Span {
  pop: number;
  budget: Budget;
  /** From call to answer, ms. */
  tookMs: number;
  /** null: the PoP gave no answer. */
  decision: Decision | null;
}

/** Tokens that one call takes, at most. */
const COST_MAX = 10;
/** Calls under way at one PoP at most: what comes meanwhile isn't made. */
const UNDER_WAY_MAX = 256;

export class Load {
  readonly calls: Call[] = [];
  readonly #random: () => number;
  /** Where each PoP listens; null: it is down, and isn't called. */
  readonly #pops: (Pool | null)[] = [];
  /** Calls a second at each PoP, on each budget. */
  #rates: readonly number[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #running = true;
  readonly #pacing: Promise<void>[] = [];

  constructor(urls: readonly string[], seed: number) {
    this.#random = seeded(seed);
    for (const [nth, url] of urls.entries()) {
      this.up(nth, url);
      for (const budget of BUDGETS) this.#pacing.push(this.#pace(nth, budget));
    }
  }

  /** Sets the pace of each PoP, calls a second on each budget. */
  pace(rates: readonly number[]): void {
    this.#rates = rates;
  }

  down(nth: number): void {
    void this.#pops[nth]?.destroy();
    this.#pops[nth] = null;
  }

  up(nth: number, url: string): void {
    this.#pops[nth] = new Pool(url, { connections: UNDER_WAY_MAX });
  }

  /** Makes no more calls, and waits for the answers. */
  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#pacing);
    await Promise.all(this.#underWay);
    for (const pool of this.#pops) await pool?.close();
  }

  async #pace(nth: number, budget: Budget): Promise<void> {
    let next = performance.now();
    while (this.#running) {
      const rate = this.#rates[nth] ?? 0;
      next += rate > 0 ? (-Math.log(1 - this.#random()) * 1000) / rate : 50;
      await new Promise((resolve) => setTimeout(resolve, Math.max(next - performance.now(), 0)));
      // A machine that was held up doesn't make up for it.
      next = Math.max(next, performance.now() - 100);
      const pool = this.#pops[nth];
      if (!this.#running || rate === 0 || !pool || this.#underWay.size >= UNDER_WAY_MAX) continue;
      const call = this.#call(pool, nth, budget).then(() => {
        this.#underWay.delete(call);
      });
      this.#underWay.add(call);
    }
  }

  async #call(pool: Pool, pop: number, budget: Budget): Promise<void> {
    const cost = 1 + Math.floor(this.#random() * COST_MAX);
    const start = Date.now();
    const startedAt = performance.now();
    let decision: Decision | null = null;
    try {
      const { statusCode, body } = await pool.request({ path: `/limit?budget=${budget}&cost=${cost}`, method: "GET" });
      const answer = await body.json();
      if (statusCode === 200) decision = answer as Decision;
    } catch {
      // The PoP was killed.
    }
    const tookMs = performance.now() - startedAt;
    this.calls.push({ pop, budget, cost, start, end: Date.now(), tookMs, decision });
  }
}

/** The calls on a budget that were admitted. */
export function admitted(calls: readonly Call[], budget: Budget): Call[] {
  return calls.filter((call) => call.budget === budget && call.decision?.success);
}

export function tokens(calls: readonly Call[]): number {
  return calls.reduce((sum, { cost }) => sum + cost, 0);
}
