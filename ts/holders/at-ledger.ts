import type { Bounds, Op, Outcome, Policy } from "../contract.ts";
import type { Answer } from "../designs/design.ts";
import { LimiterError } from "../errors.ts";
import { type Durability, type LedgerReply, OUTCOME_CELLS, PEEK, REFUND, RESET, TAKE } from "../ledger/messages.ts";
import type { Terms, TermsOf } from "../ledger/terms.ts";
import { Courier, type LeaseKeeper } from "../link/courier.ts";
import { Denials } from "../link/denials.ts";
import { holderId } from "../link/holder-id.ts";
import type { Delivery } from "../link/lane.ts";
import { allOf } from "../policies/all-of.ts";
import { envelope } from "../policies/envelope.ts";
import { policyOf } from "../policies/spec.ts";
import type { HolderContext } from "./holder.ts";

const KINDS = { take: TAKE, peek: PEEK, refund: REFUND, reset: RESET };

/** Has calls decided at the ledger, and remembers its refusals. */
export class AtLedger {
  readonly courier: Courier;
  readonly #policies: readonly Policy[];
  readonly #terms: TermsOf;
  readonly #monotonic: () => number;
  readonly #durability: Durability;
  readonly failsOpen: boolean;
  readonly #denials: Denials;
  #cached = 0;
  #fallback = 0;

  constructor(context: HolderContext, denialsMax: number, leases?: LeaseKeeper) {
    const { policies, terms, ambient, link, deadlineMs, carry, onError } = context;
    this.#policies = policies;
    this.#terms = terms;
    this.#monotonic = () => ambient.monotonic();
    this.#durability = link.durability;
    this.failsOpen = context.onUnreachable === "allow";
    this.#denials = new Denials(denialsMax);
    const holder = holderId(ambient);
    this.courier = new Courier({ link, ambient, holder, terms, carry, deadlineMs, leases, onError });
  }

  /** What a remembered refusal says to a take; null: nothing. */
  refusal(address: string, cost: number): Answer | null {
    const denial = this.#denials.find(address, cost, this.#monotonic());
    if (!denial) return null;
    this.#cached++;
    return { ...denial, source: "cache" };
  }

  /**
   * Has it decided.
   * @param key      whose refusals these are; the address unless given
   * @param arrived  is shown the ledger's reply
   */
  async ask(address: string, op: Op, key = address, arrived?: (reply: LedgerReply) => void): Promise<Answer> {
    const amount = op[0] === "reset" ? 1 : op[1];
    const givesBack = op[0] === "refund" || op[0] === "reset";
    const plan = this.#terms.of(address).plan?.address;
    if (givesBack) this.#denials.forget(key, plan);
    const delivery = await this.courier.send(address, KINDS[op[0]], amount);
    // Again: a refusal from before it may have come in meanwhile.
    if (givesBack) this.#denials.forget(key, plan);
    if (!delivery) return this.#withoutLedger(address, op);
    arrived?.(delivery.reply);
    const answer = this.#read(address, delivery);
    if (op[0] === "take" && !answer.admitted) {
      this.#denials.add(key, amount, delivery.sentAt, answer, plan);
    }
    return answer;
  }

  /** As `ask`, once the ledger has got back what it refused for. */
  askAgain(address: string, op: Op): Promise<Answer> {
    this.#denials.forget(address, this.#terms.of(address).plan?.address);
    return this.ask(address, op);
  }

  /** What one crash of a ledger does to the takes that it decides. */
  get crash(): Bounds["crash"] {
    const durability = this.#durability;
    const unwritten = (ms: number) => Math.min(...this.#policies.map((policy) => envelope(policy, ms)));
    return {
      overshoot: durability.mode === "lazy" ? unwritten(durability.everyMs) : 0,
      lost: (durability.mode === "reserve" ? durability.chunk : 0) + this.#planCapacity,
    };
  }

  /** Commits for one at an endpoint: with a plan, what is reserved there, and what is returned. */
  get commits(): number {
    return this.#terms.plan.length > 0 ? 3 : 1;
  }

  /** What a crash may leave charged to a plan: whatever was reserved for calls under way. */
  get #planCapacity(): number {
    const { plan } = this.#terms;
    return plan.length > 0 ? Math.min(...plan.map(({ capacity }) => capacity)) : 0;
  }

  get stats(): Record<string, number> {
    return { ...this.courier.stats, cached: this.#cached, fallback: this.#fallback };
  }

  async close(): Promise<void> {
    await this.courier.close();
    this.#denials.clear();
  }

  #withoutLedger(address: string, op: Op): Answer {
    if (op[0] === "take") return this.fallback(address);
    const cause = this.courier.lastErrorOf(address);
    throw new LimiterError("unreachable", "the ledger gave no answer within the deadline", { cause });
  }

  /** The answer to a take that no ledger decides, as the user chose it. */
  fallback(address: string): Answer {
    this.#fallback++;
    const admitted = this.failsOpen;
    const retryAfterMs = admitted ? 0 : Math.max(1, Math.ceil(this.courier.blockedMs(address)));
    return { admitted, remaining: 0, retryAfterMs, resetMs: 0, source: "fallback", unreachable: true };
  }

  #read(address: string, { reply, index }: Delivery): Answer {
    const terms = this.#terms.of(address);
    const policies = policiesIn(reply, terms);
    const first = index * policies.length;
    if (policies.length === 1) return { ...outcomeAt(reply.outcomes, first), source: "ledger" };
    const outcomes = policies.map((_, offset) => outcomeAt(reply.outcomes, first + offset));
    const joint = allOf(policies, outcomes);
    const answer: Answer = { ...joint, source: "ledger" };
    const plans = reply.plan?.length ?? terms.plan?.policies.length ?? 0;
    if (!joint.admitted && joint.tightest >= policies.length - plans) answer.planCap = true;
    return answer;
  }
}

/** What the outcomes in a reply are by, if not by what was asked for. */
function policiesIn({ policies, plan }: LedgerReply, terms: Terms): readonly Policy[] {
  if (!policies && !plan) return terms.policies;
  return [...(policies ?? terms.specs), ...(plan ?? terms.plan?.policies ?? [])].map(policyOf);
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
