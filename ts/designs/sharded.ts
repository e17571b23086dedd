import type { Bounds, Op } from "../contract.ts";
import { Shards } from "../core/shards.ts";
import { badOption, requireInteger, requireKnown } from "../errors.ts";
import type { LedgerReply, Link, PlacedLink } from "../ledger/messages.ts";
import { addressesOf } from "../link/address.ts";
import { holderId } from "../link/holder-id.ts";
import { defaultTtlMs } from "../link/lease-hold.ts";
import { AtLedger } from "./at-ledger.ts";
import { type Answer, type Design, type Holder, type HolderContext, remoteOf } from "./design.ts";
import { Width } from "./sharded-auto.ts";
import { splitPolicies } from "./sharded-split.ts";

export interface ShardedOptions {
  /**
   * Ledgers that a key is spread over, 1 to 256; or "auto": as many as its load asks for, and none
   * but its own ledger while that has little to do.
   */
  shards: number | "auto";
  /**
   * "leased" unless given: shards lease tokens from the key's own ledger, so that skew costs next
   * to nothing; the link must reach middle ledgers. "static": each has a fixed part of the limit.
   */
  split?: "leased" | "static";
  /**
   * "pinned": a limiter keeps to one shard, chosen by hash, so that its calls travel together.
   * "spread": each call goes to the better of two random ones. Unless given, pinned where the
   * split is leased and spread where it is static.
   */
  route?: "pinned" | "spread";
  /** Shards that are asked besides, before a call is refused; 0 unless given, or 2 if the split is static. */
  retries?: number;
  /** With "auto": the load above which a ledger is split, requests a second; 1000 unless given. */
  splitAt?: number;
}

const OPTIONS = ["shards", "split", "route", "retries", "splitAt"];
const SHARDS_MAX = 256;
const AUTO_MAX = 64;
const DENIALS_MAX = 10_000;
/** Keys whose number of shards is remembered; others begin with none. */
const WIDTHS_MAX = 10_000;
/** The shard that is no shard: the key's own ledger. */
const HOME = -1;

/**
 * Spreads a key that is too hot for one ledger over several.
 *
 * Safety: none above the limit, also while their number changes (`test/sim/sharded.test.ts`).
 * Loss: leased: what other shards hold, at most half of the budget. Static: a call is refused
 * when its shards are empty, whatever is left in others; it can cost no more than one holds.
 * Cost: one round trip to a shard, shared as in exact().
 *
 * @throws {RangeError} an option is missing, unknown or out of range
 */
export function sharded(options: ShardedOptions): Design {
  requireKnown("sharded", options, OPTIONS);
  const { shards, split = "leased", splitAt } = options;
  if (shards !== "auto") requireInteger("shards", shards, 1, SHARDS_MAX);
  if (split !== "leased" && split !== "static") throw badOption("split", split, '"leased" or "static"');
  const { route = split === "leased" ? "pinned" : "spread" } = options;
  if (route !== "pinned" && route !== "spread") throw badOption("route", route, '"pinned" or "spread"');
  if (shards === "auto" && split === "static") {
    throw new RangeError(
      'shards: "auto" needs split: "leased": a static split that changes would give its tokens twice',
    );
  }
  if (splitAt !== undefined && shards !== "auto") throw new RangeError('splitAt goes with shards: "auto"');
  const retries = requireInteger("retries", options.retries ?? (split === "leased" ? 0 : 2), 0, SHARDS_MAX);
  const load = requireInteger("splitAt", splitAt ?? 1000, 1, 1_000_000);
  return {
    kind: "sharded",
    needsLink: true,
    hold: (context) => new ShardedHolder(context, { shards, split, route, retries, splitAt: load }),
  };
}

class ShardedHolder implements Holder {
  readonly #context: HolderContext;
  readonly #options: Required<ShardedOptions>;
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

  constructor(context: HolderContext, options: Required<ShardedOptions>) {
    const remote = remoteOf(context, "sharded");
    const { policies, ambient, name } = context;
    const { shards, split, retries } = options;
    this.#context = context;
    this.#options = options;
    this.#addressOf = addressesOf(name);
    this.#id = holderId(ambient);
    const capacity = Math.min(...policies.map((policy) => policy.capacity));
    let link: Link;
    if (split === "static") {
      const parts = splitPolicies(policies, shards as number);
      const least = parts.map((part) => Math.min(...part.map((policy) => policy.capacity)));
      link = staticLink(remote.link, parts);
      this.#costMax = least.at(-1) as number;
      this.#inReach = least.slice(-1 - retries).reduce((sum, tokens) => sum + tokens, 0);
    } else {
      link = leasedLink(remote.link);
      this.#costMax = Number.POSITIVE_INFINITY;
      this.#inReach = Math.ceil(capacity / 2);
    }
    this.#ledger = new AtLedger(context, { ...remote, link }, DENIALS_MAX);
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

  async close(): Promise<void> {
    this.#ledger.close();
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
function staticLink(link: Link, parts: ReturnType<typeof splitPolicies>): Link {
  const specs = parts.map((policies) => policies.map(({ spec }) => spec));
  return {
    durability: link.durability,
    ask: (lane, request) => link.ask(lane, { ...request, policies: specs[partsOf(lane).shard] as (typeof specs)[0] }),
  };
}

/** To middle ledgers, which lease from the key's own. */
function leasedLink(link: Link): Link {
  if (!("at" in link)) {
    throw new RangeError(
      'split: "leased" needs a link that reaches middle ledgers, such as durableObject(env.LEDGER, { middle: env.MIDDLE }); or split: "static"',
    );
  }
  const placed = link as PlacedLink;
  const shards = new Map<number, Link>([[HOME, link]]);
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
