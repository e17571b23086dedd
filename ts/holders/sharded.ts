import type { Bounds, Op } from "../contract.ts";
import { Shards } from "../core/shards.ts";
import type { Answer, ShardedDesign } from "../designs/design.ts";
import type { PlacedLink } from "../designs/link.ts";
import type { LedgerReply, Ledgers } from "../ledger/messages.ts";
import { addressesOf } from "../link/address.ts";
import { holderId } from "../link/holder-id.ts";
import { defaultTtlMs } from "../link/lease-hold.ts";
import { AtLedger } from "./at-ledger.ts";
import type { Holder, HolderContext } from "./holder.ts";
import { Width } from "./sharded-auto.ts";
import { splitPolicies } from "./sharded-split.ts";

const AUTO_MAX = 64;
const DENIALS_MAX = 10_000;
/** Keys whose number of shards is remembered; others begin with none. */
const WIDTHS_MAX = 10_000;
/** The shard that is no shard: the key's own ledger. */
const HOME = -1;

/** Spreads keys over ledgers: the half of sharded() in this process. */
export class ShardedHolder implements Holder {
  readonly #context: HolderContext;
  readonly #options: ShardedDesign;
  readonly #addressOf: (key: string) => string;
  readonly #ledger: AtLedger;
  readonly #widths = new Map<string, Width>();
  /** Most that a call can cost. */
  readonly #costMax: number;
  /** The part of its options that a static split can give to one call, in tokens. */
  readonly #inReach: number;
  readonly #random = new Uint8Array(4);
  #hashed: Shards | null = null;
  readonly #id: string;

  constructor(context: HolderContext, options: ShardedDesign) {
    const { policies, ambient, name } = context;
    const { shards, split, retries } = options;
    this.#context = context;
    this.#options = options;
    this.#addressOf = addressesOf(name);
    this.#id = holderId(ambient);
    const capacity = Math.min(...policies.map((policy) => policy.capacity));
    let link: Ledgers;
    if (split === "static") {
      const parts = splitPolicies(policies, shards as number);
      const least = parts.map((part) => Math.min(...part.map((policy) => policy.capacity)));
      link = staticLink(context.link, parts);
      this.#costMax = least.at(-1) as number;
      this.#inReach = least.slice(-1 - retries).reduce((sum, tokens) => sum + tokens, 0);
    } else {
      link = leasedLink(context.link);
      this.#costMax = Number.POSITIVE_INFINITY;
      this.#inReach = Math.ceil(capacity / 2);
    }
    this.#ledger = new AtLedger({ ...context, link }, DENIALS_MAX);
  }

  async ask(key: string, op: Op): Promise<Answer> {
    const address = this.#addressOf(key);
    if (this.#options.split === "leased") return this.#askLeased(address, op);
    if (op[0] === "reset") return this.#resetAll(address);
    if (op[0] !== "refund" && op[1] > this.#costMax) return neverFits();
    let best: Answer | null = null;
    const shards = this.#options.shards as number;
    const first = this.#shardFor(address, op, shards);
    for (let tries = 0; tries <= Math.min(this.#options.retries, shards - 1); tries++) {
      const lane = laneOf((first + tries) % shards, address, shards);
      const answer = (op[0] === "take" && this.#ledger.refusal(lane, op[1])) || (await this.#ledger.ask(lane, op));
      if (answer.admitted || op[0] === "refund") return answer;
      if (!best || sooner(answer, best)) best = answer;
    }
    return best as Answer;
  }

  bounds(): Bounds {
    const { crash } = this.#ledger;
    const { split, retries } = this.#options;
    const { policies } = this.#context;
    const capacity = Math.min(...policies.map((policy) => policy.capacity));
    return {
      overshoot: 0,
      stranded: capacity - this.#inReach,
      stalenessMs: split === "leased" ? defaultTtlMs(policies) : 0,
      roundTripsPerAdmit: 1 + retries,
      // A shard that leases tells its ledger what was used, and asks for more.
      writesPerAdmit: split === "leased" ? 2 : 1,
      crash,
    };
  }

  stats(): Record<string, number> {
    let shards = 0;
    for (const width of this.#widths.values()) shards = Math.max(shards, width.shards);
    return { ...this.#ledger.stats, shards: this.#options.shards === "auto" ? shards : this.#options.shards };
  }

  close(): Promise<void> {
    return this.#ledger.close();
  }

  /** A refusal by any shard is one by the key's own ledger, which had no more to lease. */
  async #askLeased(address: string, op: Op): Promise<Answer> {
    const known = op[0] === "take" ? this.#ledger.refusal(address, op[1]) : null;
    if (known) return known;
    const width = this.#widthOf(address);
    const shards = width ? width.shards : (this.#options.shards as number);
    if (shards === 0)
      return this.#ledger.ask(laneOf(HOME, address, 0), op, address, (reply) => this.#heard(width, reply));
    const first = this.#shardFor(address, op, shards);
    let answer: Answer | null = null;
    for (let tries = 0; tries <= Math.min(this.#options.retries, shards - 1); tries++) {
      const lane = laneOf((first + tries) % shards, address, 0);
      answer = await this.#ledger.ask(lane, op, address, (reply) => this.#heard(width, reply));
      if (answer.admitted || op[0] !== "take") return answer;
    }
    return answer as Answer;
  }

  async #resetAll(address: string): Promise<Answer> {
    const shards = this.#options.shards as number;
    const all = Array.from({ length: shards }, (_, nth) => this.#ledger.ask(laneOf(nth, address, shards), ["reset"]));
    return (await Promise.all(all))[0] as Answer;
  }

  #heard(width: Width | undefined, { load }: LedgerReply): void {
    width?.heard(load ?? 0, this.#context.ambient.monotonic());
  }

  #widthOf(address: string): Width | undefined {
    if (this.#options.shards !== "auto") return undefined;
    let width = this.#widths.get(address);
    if (!width) {
      if (this.#widths.size >= WIDTHS_MAX) this.#widths.delete(this.#widths.keys().next().value as string);
      width = new Width(this.#options.splitAt, AUTO_MAX);
      this.#widths.set(address, width);
    }
    return width;
  }

  #shardFor(address: string, op: Op, shards: number): number {
    if (shards === 1) return 0;
    if (this.#options.route === "pinned") {
      this.#hashed ??= new Shards(this.#context.instantiate());
      return this.#hashed.of(this.#id + address, shards);
    }
    const { random } = this.#context.ambient;
    random(this.#random);
    const [a = 0, b = 0, c = 0, d = 0] = this.#random;
    const one = (a * 256 + b) % shards;
    const other = (c * 256 + d) % shards;
    // Of two, one that isn't known to be empty.
    const refuses = op[0] === "take" && this.#ledger.refusal(laneOf(one, address, shards), op[1]) !== null;
    return refuses ? other : one;
  }
}

/** Where a shard's calls wait, and under `of` the address of its ledger: the addresses of keys begin with a digit. */
function laneOf(shard: number, address: string, of: number): string {
  return `#${shard}/${of} ${address}`;
}

function partsOf(lane: string): { shard: number; address: string } {
  const space = lane.indexOf(" ");
  return { shard: Number.parseInt(lane.slice(1), 10), address: lane.slice(space + 1) };
}

/** To ledgers of their own, each with its part of the policies. */
function staticLink(link: Ledgers, parts: ReturnType<typeof splitPolicies>): Ledgers {
  const specs = parts.map((policies) => policies.map(({ spec }) => spec));
  return {
    durability: link.durability,
    ask: (lane, request) => link.ask(lane, { ...request, policies: specs[partsOf(lane).shard] as (typeof specs)[0] }),
  };
}

/** To middle ledgers, which lease from the key's own. */
function leasedLink(link: Ledgers): Ledgers {
  if (!("at" in link)) {
    throw new RangeError(
      'split: "leased" needs a link that reaches middle ledgers, such as durableObject(env.LEDGER, { middle: env.MIDDLE }); or split: "static"',
    );
  }
  const placed = link as PlacedLink;
  const shards = new Map<number, Ledgers>([[HOME, link]]);
  return {
    durability: link.durability,
    ask(lane, request) {
      const { shard, address } = partsOf(lane);
      const to = shards.get(shard) ?? placed.at(`shard ${shard}`);
      shards.set(shard, to);
      return to.ask(address, request);
    },
  };
}

function sooner(a: Answer, b: Answer): boolean {
  return (a.retryAfterMs ?? Number.POSITIVE_INFINITY) < (b.retryAfterMs ?? Number.POSITIVE_INFINITY);
}

function neverFits(): Answer {
  return { admitted: false, remaining: 0, retryAfterMs: null, resetMs: 0, source: "ledger" };
}
