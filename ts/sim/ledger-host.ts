import type { Clock } from "../contract.ts";
import { instantiate } from "../core/instantiate.ts";
import { Keeper } from "../ledger/keeper.ts";
import { type Durability, type LedgerReply, type LedgerRequest, TAKE } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import type { KeyChange, LedgerStore, StoredKey } from "../ledger/store.ts";
import type { World } from "./world.ts";

/** The real keeper over a disk that outlives it; it can be killed and started again. */
export class LedgerHost {
  /** Requests that came in, and commits. */
  requests = 0;
  writes = 0;
  crashes = 0;
  readonly #world: World;
  readonly #clock: Clock;
  readonly #durability: Durability;
  readonly #writeMs: number;
  readonly #tookAt: (who: string, cost: number, at: number) => void;
  readonly #disk = new Map<string, string>();
  readonly #core = instantiate();
  #keeper: Keeper | null = null;

  /**
   * @param writeMs  how long a commit takes
   * @param tookAt   is told of each take that the ledger admits: an id that a retry repeats, the
   *                 cost, and the ledger's time when it was decided
   */
  constructor(
    world: World,
    clock: Clock,
    durability: Durability,
    writeMs: number,
    tookAt: (who: string, cost: number, at: number) => void,
  ) {
    this.#world = world;
    this.#clock = clock;
    this.#durability = durability;
    this.#writeMs = writeMs;
    this.#tookAt = tookAt;
    this.#start();
  }

  /** null: nobody is there. */
  serve(address: string, request: LedgerRequest): Promise<LedgerReply> | null {
    const keeper = this.#keeper;
    if (!keeper) return null;
    this.requests++;
    const at = this.#clock.now();
    return keeper.ask(address, request).then((reply) => {
      const cells = request.ops.length === 0 ? 0 : reply.outcomes.length / (request.ops.length / 2);
      for (let op = 0; 2 * op < request.ops.length && reply.outcomes.length > 0; op++) {
        // Each policy's first cell says whether it admits; a take needs all of them.
        let admitted = true;
        for (let cell = op * cells; cell < (op + 1) * cells; cell += 4) admitted &&= reply.outcomes[cell] === 1;
        if (request.ops[2 * op] === TAKE && admitted) {
          this.#tookAt(`${request.holder} ${request.seq} ${op}`, request.ops[2 * op + 1] as number, at);
        }
      }
      return reply;
    }, errorReply);
  }

  /** Kills it; it is back, with what the disk holds, after `downMs`. */
  crash(downMs: number): void {
    if (!this.#keeper) return;
    this.#keeper = null;
    this.crashes++;
    this.#world.after(downMs, () => this.#start());
  }

  #start(): void {
    const life = () => this.#keeper === keeper;
    const ifAlive = (callback: () => void) => () => {
      if (life()) callback();
    };
    const keeper: Keeper = new Keeper({
      store: this.#store(life),
      durability: this.#durability,
      now: () => this.#clock.now(),
      soon: (callback) => void this.#world.after(0, ifAlive(callback)),
      later: (ms, callback) => void this.#world.after(ms, ifAlive(callback)),
      instantiate: () => this.#core,
    });
    this.#keeper = keeper;
  }

  #store(isAlive: () => boolean): LedgerStore {
    const apply = (changes: readonly KeyChange[]) => {
      for (const { address, state, holders } of changes) {
        const known = new Map(this.#read(address)?.holders);
        for (const [id, holder] of holders) known.set(id, holder);
        this.#disk.set(address, JSON.stringify({ state, holders: [...known] }));
      }
    };
    return {
      read: (address) => this.#read(address),
      write: (changes) => {
        const copy: KeyChange[] = JSON.parse(JSON.stringify(changes));
        this.writes++;
        if (this.#writeMs === 0) return apply(copy);
        return new Promise((resolve) => {
          this.#world.after(this.#writeMs, () => {
            // Who was killed meanwhile wrote nothing.
            if (!isAlive()) return;
            apply(copy);
            resolve();
          });
        });
      },
      sweep() {},
      close() {},
    };
  }

  #read(address: string): StoredKey | null {
    const text = this.#disk.get(address);
    return text === undefined ? null : (JSON.parse(text) as StoredKey);
  }
}
