import type { Ambient } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import { type LedgerReply, type LedgerRequest, type Ledgers, PEEK, RESET, TAKE } from "../ledger/messages.ts";
import { Courier } from "../link/courier.ts";
import { holderId } from "../link/holder-id.ts";
import { LEASE_ONLY } from "../link/lane.ts";
import { defaultTtlMs } from "../link/lease-hold.ts";
import { Rounds } from "../link/rounds.ts";
import { plainTerms } from "../link/terms.ts";
import { policyOf } from "../policies/spec.ts";
import { admits, Entry, type Heard } from "./entry.ts";
import { Pool } from "./pool.ts";

/** What a middle ledger is made of. */
export interface MiddleOptions {
  /** The way home: to the ledgers that it leases from. */
  home: Ledgers;
  ambient: Ambient;
  /** How long it leases tokens for; 1 s unless given, or as long as its holders' own leases. */
  ttlMs?: number | undefined;
  /** Longest that a call waits for home, ms. */
  deadlineMs: number;
  /** Is told what kept home's answer away. */
  onError?: ((error: unknown) => void) | undefined;
  /** Is told of each take that is admitted out of what is held, when that happens: for judges. */
  tookAt?: ((request: LedgerRequest, op: number) => void) | undefined;
}

/** Short, since what a busy ledger leases it will soon have spent; long against the way home. */
const TTL_MS = 1000;
/** A cell's retryAfterMs where the call can never be admitted. */
const NEVER = -1;
/** Keys that are leased at most; calls on others are all decided at home. */
const ENTRIES_MAX = 100_000;
/** How long a holder that stays silent is remembered: far longer than its calls wait. */
const HEARD_MS = 60_000;

/** The keys of one policy at a middle ledger: one holder of the ledgers at home. */
export class Tier {
  readonly #options: MiddleOptions;
  readonly #courier: Courier;
  readonly #ttlMs: number;
  readonly #policies: number;
  readonly #entries = new Map<string, Entry>();
  /** Tokens of its leases that count as used, on all keys. */
  #used = 0;
  #closing = false;
  readonly #rounds: Rounds;

  constructor(options: MiddleOptions, { policies, carry = "share", durability }: LedgerRequest) {
    const { home, ambient, deadlineMs, onError } = options;
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? Math.min(TTL_MS, defaultTtlMs(policies.map(policyOf)));
    this.#policies = policies.length;
    this.#courier = new Courier({
      link: { durability: durability ?? home.durability, ask: (address, request) => home.ask(address, request) },
      ...{ ambient, carry, deadlineMs, onError },
      terms: plainTerms(policies.map(policyOf)),
      holder: holderId(ambient),
      leases: {
        request: (address) => this.#entries.get(address)?.pool.request(ambient.monotonic(), this.#closing),
        arrived: (address, request, reply, sentAt) =>
          this.#entries.get(address)?.pool.arrived(request, reply, sentAt, ambient.monotonic()),
      },
    });
    this.#rounds = new Rounds({
      ambient,
      pauseMs: this.#ttlMs / 4,
      work: (now) => this.#round(now),
      isNeeded: () => this.#entries.size > 0,
    });
  }

  get isIdle(): boolean {
    return this.#entries.size === 0;
  }

  get requests(): number {
    return this.#courier.stats.requests;
  }

  /** @throws {LimiterError} "protocol": the request was superseded; "storage": home is out of reach */
  ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    const now = this.#options.ambient.monotonic();
    this.#rounds.keepUp(now);
    const entry = this.#entry(address);
    let heard = entry.heard.get(request.holder);
    if (heard && heard.seq > request.seq) {
      throw new LimiterError("protocol", `request ${request.seq} was superseded by ${heard.seq} of the same holder`);
    }
    if (heard?.seq === request.seq && heard.reply) return heard.reply;
    if (heard?.seq !== request.seq) {
      entry.pool.forfeitEnded(now);
      entry.pool.settle(request, now);
      const outcomes = request.ops.slice(request.ops.length / 2).map(() => null);
      heard = { seq: request.seq, at: now, load: entry.load.add(request, now), outcomes, reply: null };
      entry.heard.set(request.holder, heard);
    }
    heard.reply = this.#decide(address, entry, request, heard);
    return heard.reply;
  }

  /** Gives back what isn't leased on. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#rounds.stop();
    const now = this.#options.ambient.monotonic();
    const held = [...this.#entries].filter(([, { pool }]) => pool.isHolding(now));
    await Promise.all(held.map(([address]) => this.#courier.send(address, LEASE_ONLY, 0)));
    await this.#courier.close();
    this.#entries.clear();
  }

  #entry(address: string): Entry {
    let entry = this.#entries.get(address);
    if (!entry) {
      const { monotonic } = this.#options.ambient;
      const spent = (tokens: number) => {
        this.#used += tokens;
      };
      entry = new Entry(new Pool(this.#ttlMs, this.#used, monotonic, spent), this.#policies);
      if (this.#entries.size < ENTRIES_MAX) this.#entries.set(address, entry);
    }
    return entry;
  }

  async #decide(address: string, entry: Entry, request: LedgerRequest, heard: Heard): Promise<LedgerReply> {
    const asked = heard.outcomes.map((outcome, nth) =>
      outcome ? null : this.#op(address, entry, request, heard, nth),
    );
    const { pool } = entry;
    const { monotonic } = this.#options.ambient;
    // What it has to ask for travels with the calls that go home, if any do.
    if (asked.every((call) => call === null) && pool.isLow(monotonic())) this.#fetch(address, pool);
    await Promise.all(asked);
    if (heard.outcomes.includes(null)) {
      heard.reply = null;
      const cause = this.#courier.lastErrorOf(address);
      throw new LimiterError("storage", `the middle ledger had no answer from home: ${cause}`, { cause });
    }
    const reply = entry.reply(request, heard, monotonic());
    if (pool.isLow(monotonic())) this.#fetch(address, pool);
    return reply;
  }

  /** Decides one op, at once if it can be: a promise of the rest. */
  #op(address: string, entry: Entry, request: LedgerRequest, heard: Heard, nth: number): Promise<void> | null {
    const kind = request.ops[2 * nth] as number;
    const amount = request.ops[2 * nth + 1] as number;
    const now = this.#options.ambient.monotonic();
    const takes = kind === TAKE;
    if (takes) entry.pool.demand(amount, now);
    const cells = takes || kind === PEEK ? entry.atHand(amount, takes, now) : null;
    if (cells) {
      heard.outcomes[nth] = cells;
      if (takes && admits(cells)) this.#options.tookAt?.(request, nth);
      return null;
    }
    return this.#atHome(address, entry, kind, amount).then((outcome) => {
      heard.outcomes[nth] = outcome;
    });
  }

  async #atHome(address: string, entry: Entry, kind: number, amount: number): Promise<readonly number[] | null> {
    const givesBack = kind !== TAKE && kind !== PEEK;
    if (givesBack) entry.forgetRefusal();
    const delivery = await this.#courier.send(address, kind, kind === RESET ? 1 : amount);
    if (givesBack) entry.forgetRefusal();
    if (!delivery) return null;
    const cells = entry.fromHome(amount, delivery, kind === TAKE);
    if (kind !== TAKE || admits(cells) || cells.includes(NEVER) || !entry.pool.offer(amount)) return cells;
    entry.forgetRefusal();
    const again = await this.#courier.send(address, kind, amount);
    return again ? entry.fromHome(amount, again, true) : cells;
  }

  #fetch(address: string, pool: Pool): void {
    pool.fetching = true;
    const done = () => {
      pool.fetching = false;
    };
    const sent = this.#courier.send(address, LEASE_ONLY, 0);
    if (sent) sent.then(done, done);
    else done();
  }

  /** Renews or returns what is about to end, and forgets what nobody asks for. */
  #round(now: number): void {
    for (const [address, { pool, heard }] of this.#entries) {
      pool.forfeitEnded(now);
      for (const [holder, { at }] of heard) if (at < now - HEARD_MS) heard.delete(holder);
      if (pool.isDue(now)) this.#fetch(address, pool);
      else if (pool.isIdle(now) && heard.size === 0) this.#entries.delete(address);
    }
  }
}
