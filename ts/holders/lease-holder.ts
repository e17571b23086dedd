import type { Bounds, Op, Policy } from "../contract.ts";
import { LeaseTable } from "../core/lease-table.ts";
import type { Answer } from "../designs/design.ts";
import type { LeaseReply, LeaseRequest } from "../ledger/messages.ts";
import { SILENT_MS_MAX } from "../ledger/rights.ts";
import { addressesOf } from "../link/address.ts";
import { LEASE_ONLY } from "../link/lane.ts";
import type { Hold, Terms } from "../link/lease-hold.ts";
import { Rounds } from "../link/rounds.ts";
import { TabledHold } from "../link/tabled-hold.ts";
import { AtLedger } from "./at-ledger.ts";
import type { Holder, HolderContext } from "./holder.ts";

/** Keys that are leased at most; calls on others are decided at the ledger. */
const HOLDS_MAX = 100_000;
const DENIALS_MAX = 10_000;

/**
 * Holds leases on keys, and spends them: the half of lease() and optimistic() in this process.
 */
export class LeaseHolder implements Holder {
  readonly #addressOf: (key: string) => string;
  readonly #policies: readonly Policy[];
  readonly #ambient: HolderContext["ambient"];
  readonly #terms: Terms;
  readonly #pops: number;
  /** Whether others hold tokens for others: then a number of PoPs and a block say nothing of all. */
  readonly #middle: boolean;
  readonly #ledger: AtLedger;
  readonly #outlive: ((work: Promise<unknown>) => void) | undefined;
  readonly #holds = new Map<string, TabledHold>();
  readonly #instantiate: HolderContext["instantiate"];
  #table: LeaseTable | undefined;
  /** What a lease says to most calls: made once, as most calls are to make nothing. */
  readonly #held: Answer = { admitted: true, remaining: 0, retryAfterMs: 0, resetMs: 0, source: "lease" };
  /** Tokens spent so far, on all keys: of leases, beyond them, and of shares. */
  #leased = 0;
  #overdrawn = 0;
  #shared = 0;
  #closing = false;
  readonly #rounds: Rounds;

  constructor(context: HolderContext, terms: Terms) {
    const { name, policies, ambient, instantiate, pops, link } = context;
    this.#addressOf = addressesOf(name);
    this.#policies = policies;
    this.#ambient = ambient;
    this.#instantiate = instantiate;
    this.#terms = terms;
    this.#pops = pops;
    this.#middle = link.middle === true;
    this.#outlive = link.outlive?.bind(link);
    this.#ledger = new AtLedger(context, DENIALS_MAX, {
      request: (address) => this.#request(address),
      arrived: (address, request, reply, sentAt) => this.#arrived(address, request, reply, sentAt),
    });
    this.#rounds = new Rounds({
      ambient,
      pauseMs: terms.ttlMs / 8,
      work: (now) => this.#round(now),
      isNeeded: () => this.#holds.size > 0,
      outlive: this.#outlive,
    });
  }

  atHand(key: string, cost: number): Answer | null {
    const now = this.#ambient.monotonic();
    this.#rounds.keepUp(now);
    if (this.#table?.spend(key, now, cost)) {
      this.#leased += cost;
      this.#held.remaining = this.#table.left;
      this.#held.resetMs = Math.max(Math.ceil(this.#table.wholeAt - now), 0);
      return this.#held;
    }
    return this.#look(key, cost, now);
  }

  /** What the table can't answer. */
  #look(key: string, cost: number, now: number): Answer | null {
    const address = this.#addressOf(key);
    const hold = this.#hold(address, key);
    if (!hold) return this.#ledger.refusal(address, cost);
    hold.recall(now);
    hold.demand(cost, now);
    const answer = this.#spend(hold, cost, now) ?? this.#refusal(address, hold, cost, now);
    if (hold.isUntold(now) || (answer?.source === "lease" && hold.isLow(now))) this.#fetch(address, hold);
    hold.lend(now);
    return answer;
  }

  /** Admits from what the holder has, or may take without having it. */
  #spend(hold: Hold, cost: number, now: number): Answer | null {
    const resetMs = Math.max(Math.ceil(hold.wholeAt - now), 0);
    const admitted = (remaining: number, source: Answer["source"]): Answer => {
      return { admitted: true, remaining, retryAfterMs: 0, resetMs, source };
    };
    if (hold.left(now) >= cost) {
      hold.spend(cost);
      this.#leased += cost;
      return admitted(hold.tokens, "lease");
    }
    if (hold.alone?.overdraw(cost, now)) {
      this.#overdrawn += cost;
      return admitted(0, "overdraft");
    }
    if (hold.alone?.takeShare(cost, now)) {
      this.#shared += cost;
      return admitted(0, "share");
    }
    return null;
  }

  #refusal(address: string, hold: Hold, cost: number, now: number): Answer | null {
    if (hold.later > 0 && cost <= hold.later) return soon(hold, now);
    const refusal = this.#ledger.refusal(address, cost);
    const { eager } = this.#terms;
    if (refusal || !eager || !hold.known) return refusal;
    if (cost > Math.min(...this.#policies.map(({ capacity }) => capacity))) {
      return { admitted: false, remaining: 0, retryAfterMs: null, resetMs: 0, source: "cache" };
    }
    const overdraftInMs = hold.alone?.overdraftInMs(cost, now) ?? Number.POSITIVE_INFINITY;
    const retryAfterMs = Math.max(Math.ceil(Math.min(overdraftInMs, eager.everyMs)), 1);
    const resetMs = Math.max(Math.ceil(hold.wholeAt - now), retryAfterMs);
    const answer: Answer = { admitted: false, remaining: 0, retryAfterMs, resetMs, source: "cache" };
    if (!hold.alone?.isBlind(now)) return answer;
    return this.#ledger.failsOpen ? this.#ledger.fallback(address) : { ...answer, unreachable: true };
  }

  async ask(key: string, op: Op): Promise<Answer> {
    const address = this.#addressOf(key);
    let answer = await this.#ledger.ask(address, op);
    const hold = this.#holds.get(address);
    if (op[0] === "reset" || answer.admitted || !hold) return answer;
    if (op[0] === "take" && answer.source === "ledger" && answer.retryAfterMs !== null) {
      hold.recall(this.#ambient.monotonic());
      const again = hold.offer(op[1]) ? await this.#ledger.askAgain(address, op) : answer;
      if (again.source === "ledger") answer = again;
    }
    if (answer.admitted || hold.later < op[1]) return answer;
    const { retryAfterMs } = soon(hold, this.#ambient.monotonic());
    return { ...answer, retryAfterMs: Math.min(answer.retryAfterMs ?? Number.POSITIVE_INFINITY, retryAfterMs) };
  }

  bounds(pops = this.#pops): Bounds {
    const capacity = Math.min(...this.#policies.map((policy) => policy.capacity));
    const { ttlMs, block = capacity, alone } = this.#terms;
    const overdraft = alone ? Math.floor(alone.overdraftPerMs * alone.blindMs * Math.min(pops, alone.pops)) : 0;
    const half = Math.floor(capacity / 2);
    return {
      overshoot: overdraft,
      stranded: this.#middle ? half : Math.min((pops - 1) * block, half),
      stalenessMs: alone ? SILENT_MS_MAX : ttlMs,
      // Where a block is a single token: one trip to get it, one to return another.
      roundTripsPerAdmit: 2,
      writesPerAdmit: 2 * this.#ledger.commits,
      crash: this.#ledger.crash,
    };
  }

  stats(): Record<string, number> {
    const now = this.#ambient.monotonic();
    let held = 0;
    for (const hold of this.#holds.values()) {
      hold.recall(now);
      held += hold.left(now);
      hold.lend(now);
    }
    return { ...this.#ledger.stats, leased: this.#leased, overdrawn: this.#overdrawn, shared: this.#shared, held };
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#rounds.stop();
    const now = this.#ambient.monotonic();
    for (const hold of this.#holds.values()) hold.recall(now);
    const held = [...this.#holds].filter(([, hold]) => hold.isHolding(now));
    await Promise.all(held.map(([address]) => this.#ledger.courier.send(address, LEASE_ONLY, 0)));
    await this.#ledger.close();
    this.#holds.clear();
    this.#table = undefined;
  }

  #hold(address: string, key: string): TabledHold | undefined {
    let hold = this.#holds.get(address);
    if (!hold && this.#holds.size < HOLDS_MAX) {
      // Opened late: Workers have no randomness before the first request.
      this.#table ??= new LeaseTable(this.#instantiate(), { most: HOLDS_MAX, random: this.#ambient.random });
      hold = new TabledHold(this.#terms, this.#leased, this.#overdrawn + this.#shared, key, this.#table);
      this.#holds.set(address, hold);
    }
    return hold;
  }

  #fetch(address: string, hold: TabledHold): void {
    hold.fetching = true;
    const done = () => {
      hold.fetching = false;
      this.#lendAnew(hold);
    };
    const sent = this.#ledger.courier.send(address, LEASE_ONLY, 0);
    const settled = sent?.then(done, done);
    if (settled) this.#outlive?.(settled);
    else done();
  }

  /** Puts what a hold has into the table, as it is now. */
  #lendAnew(hold: TabledHold): void {
    const now = this.#ambient.monotonic();
    hold.recall(now);
    hold.lend(now);
  }

  /** Renews or returns what is about to end, and forgets what nobody asks for. */
  #round(now: number): void {
    for (const [address, hold] of this.#holds) {
      hold.recall(now);
      if (hold.isDue(now)) this.#fetch(address, hold);
      else if (hold.isIdle(now)) this.#holds.delete(address);
      else hold.lend(now);
    }
  }

  #request(address: string): LeaseRequest | undefined {
    return this.#holds.get(address)?.request(this.#ambient.monotonic(), this.#closing);
  }

  #arrived(address: string, request: LeaseRequest, reply: LeaseReply, sentAt: number): void {
    const hold = this.#holds.get(address);
    if (!hold) return;
    hold.arrived(request, reply, sentAt, this.#ambient.monotonic());
    this.#lendAnew(hold);
  }
}

/** The answer to a call that tokens will be there for. */
function soon(hold: Hold, now: number): Answer & { retryAfterMs: number } {
  const retryAfterMs = Math.max(Math.ceil(hold.laterAt - now), 1);
  const resetMs = Math.max(Math.ceil(hold.wholeAt - now), retryAfterMs);
  return { admitted: false, remaining: 0, retryAfterMs, resetMs, source: "cache" };
}
