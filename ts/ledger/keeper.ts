// Runs the ledgers of one host: keeps keys in memory, steps them, and commits what changed, all
// keys of one tick together. The store, the clock and the timer are the host's.
import type { CoreExports } from "../core/exports.ts";
import { LimiterError } from "../errors.ts";
import { leasedIn, totalOf } from "./child.ts";
import { type Entry, entryOf, isAhead, markStored, remember, saveOf } from "./entry.ts";
import { forfeitReserved } from "./forfeit.ts";
import { GroupCommit } from "./group-commit.ts";
import { forfeitEnded } from "./leases.ts";
import type { Allotment, ChildReply, Durability, LedgerReply, LedgerRequest, Totals } from "./messages.ts";
import { metersOf } from "./meters.ts";
import { errorReply } from "./replies.ts";
import type { Meters } from "./run.ts";
import { HOLDER_MS, type LedgerState } from "./state.ts";
import { type Step, step } from "./step.ts";
import type { LedgerStore } from "./store.ts";

/** What a host lends to its keeper. */
export interface KeeperHost {
  store: LedgerStore;
  /** For requests that name none. */
  durability: Durability;
  /** Epoch ms. */
  now(): number;
  /** Calls back when this tick's other requests have come in. */
  soon(callback: () => void): void;
  /** Calls back after `ms`. */
  later(ms: number, callback: () => void): void;
  instantiate(): CoreExports;
  /** Keys kept in memory, besides those that wait for a commit; 100,000 unless given. */
  keysMax?: number;
}

/** What becomes of a key that is changed by other means than a request. */
export interface KeyUpdate<T> extends Pick<Step, "state" | "changed" | "leased" | "freed" | "wake"> {
  result: T;
}

/** Entries looked at to find one that memory can do without. */
const EVICTION_TRIES = 16;

export class Keeper {
  readonly #host: KeeperHost;
  readonly #meters: Meters;
  readonly #entries = new Map<string, Entry>();
  readonly #commits: GroupCommit<Entry>;
  #last = 0;
  #lazyAt = Number.POSITIVE_INFINITY;
  #failing = false;
  #closed = false;

  constructor(host: KeeperHost) {
    this.#host = host;
    this.#meters = metersOf(() => host.instantiate());
    this.#commits = new GroupCommit(
      host.soon,
      (entries) => this.#write(entries),
      (entries) => this.#takeBack(entries),
    );
  }

  /**
   * Decides a request, and answers when what its durability asks for is stored.
   * @throws {RangeError} the request makes no sense
   * @throws {LimiterError} "storage": the state can't be read or stored; nothing was decided
   */
  async ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    return (await this.#ask(address, request, this.#now())).reply;
  }

  /**
   * Decides requests to a child at the time `now` of its plan, and tells its totals. Requests
   * that make no sense have their error in their reply.
   * @throws {LimiterError} "storage": the state can't be read or stored
   */
  async askChild(
    address: string,
    requests: readonly LedgerRequest[],
    allotment: Allotment,
    now: number,
  ): Promise<ChildReply> {
    const fresh = !this.#entry(address, now).state?.total;
    // What a child had before it was deleted may be in use elsewhere.
    const allotted = fresh ? { ...allotment, tokens: allotment.given } : allotment;
    const asked = requests.map((request) =>
      this.#ask(address, request, now, allotted).catch((error) => {
        const reply = errorReply(error);
        if (reply.error?.code === "storage" || reply.error?.code === "closed") throw error;
        return { reply, replayed: false };
      }),
    );
    // Before anything else happens to the key: all of them have been decided by now.
    const totals = { ...this.#totals(address, now), fresh };
    return { replies: await Promise.all(asked), totals };
  }

  /**
   * Changes a key by other means than a request. `stored` settles when that is, as far as
   * `durability` asks for; `result` is known at once.
   * @throws {LimiterError} "storage": the state can't be read
   */
  update<T>(
    address: string,
    durability: Durability,
    change: (meters: Meters, state: LedgerState | null, now: number) => KeyUpdate<T>,
  ): { result: T; stored: Promise<void> } {
    if (this.#closed) throw new LimiterError("closed", "the ledger host is closed");
    const now = this.#now();
    const entry = this.#entry(address, now);
    const { result, ...made } = change(this.#meters, entry.state, now);
    if (made.changed) {
      entry.wholeAt = made.wake;
      entry.state = made.state;
      entry.version++;
    }
    return { result, stored: this.#settled(entry, durability, made) };
  }

  async #ask(address: string, request: LedgerRequest, now: number, allotment?: Allotment) {
    if (this.#closed) throw new LimiterError("closed", "the ledger host is closed");
    const entry = this.#entry(address, now);
    const load = entry.load.add(request, now);
    const result = step(this.#meters, entry.state, entry.holders.get(request.holder), request, now, allotment);
    if (!result.replayed) {
      remember(entry, request, result.reply, now, allotment);
      entry.wholeAt = result.wake;
    }
    if (result.changed) {
      entry.state = result.state;
      entry.spent += result.admitted;
      entry.version++;
      entry.unsaved.add(request.holder);
    }
    await this.#settled(entry, request.durability ?? this.#host.durability, result);
    return load === undefined ? result : { ...result, reply: { ...result.reply, load } };
  }

  #totals(address: string, now: number): Omit<Totals, "fresh"> {
    const { state, wholeAt } = this.#entry(address, now);
    const settled = state && forfeitEnded(this.#meters, state, now);
    return { ...totalOf(state, settled), held: leasedIn(settled), wholeAt };
  }

  /**
   * Stores what lazy answers promised, and idle keys without their reserve; forgets whole ones, and
   * sweeps the store. False: memory knows of more than the store, and must not be given up.
   */
  async sweep(): Promise<boolean> {
    const now = this.#now();
    const settling: Promise<void>[] = [];
    for (const entry of this.#entries.values()) {
      const pending = this.#commits.pending(entry);
      if (pending) settling.push(pending);
      else if (entry.wholeAt <= now && isAhead(entry)) {
        entry.reserve = 0;
        settling.push(this.#commits.add(entry));
      } else if (entry.version > entry.stored) settling.push(this.#commits.add(entry));
      else if (entry.wholeAt <= now - HOLDER_MS) this.#entries.delete(entry.address);
    }
    await Promise.allSettled(settling);
    this.#host.store.sweep(now - HOLDER_MS);
    for (const entry of this.#entries.values()) if (entry.version > entry.stored) return false;
    return true;
  }

  /** Stores everything, and gives up the store. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#commits.idle();
    const left = [...this.#entries.values()].filter(isAhead);
    for (const entry of left) entry.reserve = 0;
    await Promise.all(left.map((entry) => this.#commits.add(entry)));
    this.#host.store.close();
  }

  #now(): number {
    this.#last = Math.max(this.#last, Math.floor(this.#host.now()));
    return this.#last;
  }

  #entry(address: string, now: number): Entry {
    const held = this.#entries.get(address);
    if (held) {
      this.#entries.delete(address);
      this.#entries.set(address, held);
      return held;
    }
    const stored = read(this.#host.store, address);
    const state = stored?.state ? forfeitReserved(this.#meters, stored.state, now) : null;
    const entry = entryOf(address, stored, state, now);
    this.#evict();
    this.#entries.set(address, entry);
    return entry;
  }

  /** Makes room for another key: gives up one of the longest unused that the store knows as well. */
  #evict(): void {
    if (this.#entries.size < (this.#host.keysMax ?? 100_000)) return;
    let tries = EVICTION_TRIES;
    for (const entry of this.#entries.values()) {
      if (tries-- === 0) return;
      if (this.#commits.pending(entry)) continue;
      if (!isAhead(entry)) {
        this.#entries.delete(entry.address);
        return;
      }
      entry.reserve = 0;
      this.#commits.add(entry).catch(() => {});
    }
  }

  /** Resolves when the entry is stored as far as `durability` asks for. */
  async #settled(
    entry: Entry,
    durability: Durability,
    { changed, leased, freed }: Pick<Step, "changed" | "leased" | "freed">,
  ): Promise<void> {
    entry.reserve = durability.mode === "reserve" ? durability.chunk : 0;
    const due =
      durability.mode === "strict" ||
      // Whatever else may be forgotten: who has a lease spends it, so it must survive a crash.
      leased ||
      this.#failing ||
      (durability.mode === "reserve" && (freed || entry.spent > entry.reserved));
    // An answer that changed nothing still rests on what is being stored.
    const pending = this.#commits.pending(entry);
    try {
      if (entry.version > entry.stored && due && (changed || !pending)) await this.#commits.add(entry);
      else await pending;
    } catch (cause) {
      throw new LimiterError("storage", `nothing was decided, the ledger could not store it: ${cause}`, { cause });
    }
    if (entry.version > entry.stored && durability.mode === "lazy") {
      entry.promised = entry.version;
      this.#commitBy(this.#now() + durability.everyMs);
    }
  }

  #commitBy(at: number): void {
    if (at >= this.#lazyAt) return;
    this.#lazyAt = at;
    this.#host.later(at - this.#now(), () => {
      this.#lazyAt = Number.POSITIVE_INFINITY;
      for (const entry of this.#entries.values()) {
        if (entry.promised > entry.stored) this.#commits.add(entry).catch(() => {});
      }
    });
  }

  #write(entries: ReadonlySet<Entry>): void | Promise<void> {
    const saves = [...entries].map(saveOf);
    const written = this.#host.store.write(saves.map((save) => save.change));
    const stored = () => {
      this.#failing = false;
      for (const save of saves) markStored(save);
    };
    return written ? written.then(stored) : stored();
  }

  /** Memory returns to what is stored, but for what answers have already promised. */
  #takeBack(entries: ReadonlySet<Entry>): void {
    this.#failing = true;
    for (const entry of entries) if (entry.promised <= entry.stored) this.#entries.delete(entry.address);
  }
}

function read(store: LedgerStore, address: string) {
  try {
    return store.read(address);
  } catch (cause) {
    if (cause instanceof LimiterError) throw cause;
    throw new LimiterError("storage", `nothing was decided, the ledger could not read its state: ${cause}`, { cause });
  }
}
