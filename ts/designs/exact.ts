import type { Bounds, Op, Outcome, Policy } from "../contract.ts";
import { LimiterError, requireInteger, requireKnown } from "../errors.ts";
import { type Durability, OUTCOME_CELLS, PEEK, REFUND, RESET, TAKE } from "../ledger/messages.ts";
import { addressesOf } from "../link/address.ts";
import { Courier } from "../link/courier.ts";
import { Denials } from "../link/denials.ts";
import { holderId } from "../link/holder-id.ts";
import type { Delivery } from "../link/lane.ts";
import { allOf } from "../policies/all-of.ts";
import { envelope } from "../policies/envelope.ts";
import { policyOf } from "../policies/spec.ts";
import type { Answer, Design, Holder, HolderContext } from "./design.ts";

export interface ExactOptions {
  /**
   * Keys whose refusals are remembered until they end, so that they cost no round trip; 10,000
   * unless given, 0 for none. What another limiter refunds or resets is not seen until then.
   */
  denialsMax?: number;
}

/**
 * Every decision is taken at the key's ledger.
 *
 * Safety: none above the limit, over any number of PoPs (`test/linear/history.test.ts`).
 * Loss: a PoP that cannot reach the ledger cannot decide, and does what onUnreachable says.
 * Cost: one round trip, shared by all calls on the key that come while another is under way.
 *
 * @throws {RangeError} an option is out of range or unknown
 */
export function exact(options: ExactOptions = {}): Design {
  requireKnown("exact", options, ["denialsMax"]);
  const denialsMax = requireInteger("denialsMax", options.denialsMax ?? 10_000, 0, 10_000_000);
  return { kind: "exact", needsLink: true, hold: (context) => new ExactHolder(context, denialsMax) };
}

const KINDS = { take: TAKE, peek: PEEK, refund: REFUND, reset: RESET };

class ExactHolder implements Holder {
  readonly #addressOf: (key: string) => string;
  readonly #policies: readonly Policy[];
  readonly #monotonic: () => number;
  readonly #durability: Durability;
  readonly #allow: boolean;
  readonly #courier: Courier;
  readonly #denials: Denials;
  #cached = 0;
  #fallback = 0;

  constructor({ name, policies, ambient, remote }: HolderContext, denialsMax: number) {
    if (!remote) throw new RangeError("design exact() needs a link to its ledgers");
    this.#addressOf = addressesOf(name);
    this.#policies = policies;
    this.#monotonic = () => ambient.monotonic();
    this.#durability = remote.link.durability;
    this.#allow = remote.onUnreachable === "allow";
    this.#denials = new Denials(denialsMax);
    const { link, deadlineMs, carry, onError } = remote;
    const specs = policies.map((policy) => policy.spec);
    const holder = holderId(ambient);
    this.#courier = new Courier({ link, ambient, holder, policies: specs, carry, deadlineMs, onError });
  }

  async ask(key: string, op: Op): Promise<Answer> {
    const address = this.#addressOf(key);
    const amount = op[0] === "reset" ? 1 : op[1];
    if (op[0] === "take") {
      const denial = this.#denials.find(address, amount, this.#monotonic());
      if (denial) {
        this.#cached++;
        return { ...denial, source: "cache" };
      }
    }
    const givesBack = op[0] === "refund" || op[0] === "reset";
    if (givesBack) this.#denials.forget(address);
    const delivery = await this.#courier.send(address, KINDS[op[0]], amount);
    // Again: a refusal from before it may have come in meanwhile.
    if (givesBack) this.#denials.forget(address);
    if (!delivery) return this.#withoutLedger(address, op);
    const answer = this.#read(delivery);
    if (op[0] === "take" && !answer.admitted) {
      this.#denials.add(address, amount, delivery.sentAt, answer);
    }
    return answer;
  }

  bounds(): Bounds {
    const { mode } = this.#durability;
    const lost = mode === "reserve" ? this.#durability.chunk : 0;
    return {
      overshoot: 0,
      stranded: 0,
      stalenessMs: 0,
      roundTripsPerAdmit: 1,
      writesPerAdmit: mode === "strict" ? 1 : mode === "reserve" ? Math.min(1, 1 / this.#durability.chunk) : 0,
      crash: { overshoot: mode === "lazy" ? this.#unwritten(this.#durability.everyMs) : 0, lost },
    };
  }

  stats(): Record<string, number> {
    return { ...this.#courier.stats, cached: this.#cached, fallback: this.#fallback };
  }

  async close(): Promise<void> {
    this.#courier.close();
    this.#denials.clear();
  }

  /** Most that the policies admit within `ms`: what a crash forgets if nothing was written. */
  #unwritten(ms: number): number {
    return Math.min(...this.#policies.map((policy) => envelope(policy, ms)));
  }

  #withoutLedger(address: string, op: Op): Answer {
    if (op[0] !== "take") {
      const cause = this.#courier.lastError;
      throw new LimiterError("unreachable", "the ledger gave no answer within the deadline", { cause });
    }
    this.#fallback++;
    const admitted = this.#allow;
    const retryAfterMs = admitted ? 0 : Math.max(1, Math.ceil(this.#courier.blockedMs(address)));
    return { admitted, remaining: 0, retryAfterMs, resetMs: 0, source: "fallback", unreachable: true };
  }

  #read({ reply, index }: Delivery): Answer {
    const policies = reply.policies?.map(policyOf) ?? this.#policies;
    const first = index * policies.length;
    if (policies.length === 1) return { ...outcomeAt(reply.outcomes, first), source: "ledger" };
    const outcomes = policies.map((_, offset) => outcomeAt(reply.outcomes, first + offset));
    return { ...allOf(policies, outcomes), source: "ledger" };
  }
}

function outcomeAt(cells: readonly number[], nth: number): Outcome {
  const at = nth * OUTCOME_CELLS;
  if (at + OUTCOME_CELLS > cells.length) throw new LimiterError("protocol", "the ledger's reply lacks an outcome");
  const retryAfterMs = cells[at + 2] as number;
  return {
    admitted: cells[at] === 1,
    remaining: cells[at + 1] as number,
    retryAfterMs: retryAfterMs === -1 ? null : retryAfterMs,
    resetMs: cells[at + 3] as number,
  };
}
