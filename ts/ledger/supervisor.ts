// Stands between the plan of a tenant and its children, the ledgers of its endpoints. A take must
// be admitted by both or is charged to neither: what it may cost is reserved in the plan first,
// and stored; then the child is asked; then the plan is settled. Whatever ends in between leaves
// the plan charged, and never the child alone.
import { badOption, LimiterError, requireInteger } from "../errors.ts";
import type { Children } from "./children.ts";
import type { Keeper } from "./keeper.ts";
import type { Allotment, ChildReply, Durability, LedgerReply, LedgerRequest, PlanRequest, Totals } from "./messages.ts";
import { isKnown, type PlanPolicies, type Reserved, reserve, settle } from "./plan.ts";
import { errorReply } from "./replies.ts";
import { sameSpecs } from "./step.ts";

/** What a host lends to its supervisor. */
export interface SupervisorHost {
  /** Has the plans' own ledgers. */
  keeper: Keeper;
  children: Children;
  /** Asks a child, which decides by the plan's time `now`; no requests: only its totals are wanted. */
  askChild(
    plan: string,
    child: string,
    requests: LedgerRequest[],
    allotment: Allotment,
    now: number,
  ): Promise<ChildReply>;
  /** Epoch ms. */
  now(): number;
  /** Calls back after `ms`. */
  later(ms: number, callback: () => void): void;
}

/** Requests that travel to a child together, at most. */
const BATCH_MAX = 64;
/** What was returned to a plan is stored behind the answers: a crash before that leaves it charged. */
const BEHIND: Durability = { mode: "lazy", everyMs: 100 };
/** Longest that a take waits for the calls under way to other children to be settled. */
const PATIENCE_MS = 1000;
const NOTHING: Allotment = { used: 0, back: 0, tokens: 0, given: 0, ttlMs: 1 };

/** The largest number of children that can be asked for. */
export const CHILDREN_MAX = 100_000;

interface Waiting {
  request: LedgerRequest;
  plan: PlanRequest;
  resolve(reply: LedgerReply): void;
}

/** The way to one child: one call under way, and those who wait for the next. */
interface Lane {
  queue: Waiting[];
  busy: boolean;
}

/** A plan that someone is asking for. */
interface Plan {
  lanes: Map<string, Lane>;
  /** Tokens that are reserved for the calls under way, by child. */
  underWay: Map<string, number>;
  /** Those who wait to reserve, one behind the other. */
  turn: Promise<unknown>;
  /** Tells that a call has been settled. */
  settled(): void;
}

/**
 * Safety: no child's admissions exceed its policies, and all children's together not the plan's
 * (`test/tenant/faults.test.ts`). Cost: a commit in the plan and one in the child for all that
 * is asked of a child while another call to it is under way.
 */
export class Supervisor {
  readonly #host: SupervisorHost;
  readonly #plans = new Map<string, Plan>();

  constructor(host: SupervisorHost) {
    this.#host = host;
  }

  /** Decides a request to one of a plan's children. An error is in the reply. */
  ask(request: LedgerRequest): Promise<LedgerReply> {
    const { plan } = request;
    try {
      check(plan);
      const { children } = this.#host;
      if (!children.admit(plan.address, plan.child, plan.childrenMax)) throw tooMany(plan);
    } catch (error) {
      return Promise.resolve(errorReply(error));
    }
    return new Promise((resolve) => {
      const lane = this.#lane(plan);
      lane.queue.push({ request, plan, resolve });
      if (lane.busy) return;
      lane.busy = true;
      // What else this tick asks of the child comes along.
      void Promise.resolve().then(() => this.#work(plan.address, plan.child, lane));
    });
  }

  #lane({ address, child }: PlanRequest): Lane {
    let plan = this.#plans.get(address);
    if (!plan) {
      plan = { lanes: new Map(), underWay: new Map(), turn: Promise.resolve(), settled: () => {} };
      this.#plans.set(address, plan);
    }
    let lane = plan.lanes.get(child);
    if (!lane) {
      lane = { queue: [], busy: false };
      plan.lanes.set(child, lane);
    }
    return lane;
  }

  async #work(address: string, child: string, lane: Lane): Promise<void> {
    const plan = this.#plans.get(address) as Plan;
    while (lane.queue.length > 0) {
      const batch = nextBatch(lane.queue);
      try {
        const replies = await this.#call(plan, batch);
        for (const [nth, { resolve }] of batch.entries()) resolve(replies[nth] as LedgerReply);
      } catch (error) {
        for (const { resolve } of batch) resolve(errorReply(error));
      }
    }
    lane.busy = false;
    plan.lanes.delete(child);
    if (plan.lanes.size === 0) this.#plans.delete(address);
  }

  /** One call to a child, for all who wait for it. */
  async #call(plan: Plan, batch: Waiting[]): Promise<LedgerReply[]> {
    const { request: first, plan: asked } = batch[0] as Waiting;
    const { address, child } = asked;
    const requests = batch.map(({ request }) => request);
    const terms: PlanPolicies = { policies: asked.policies, carry: first.carry ?? "share" };
    try {
      const { allotment, now } = await this.#reserve(plan, asked, terms, requests);
      const bare = requests.map(({ plan: _, ...request }) => request);
      const reply = await this.#host.askChild(address, child, bare, allotment, now);
      this.#host.children.keep(address, child, reply.totals.wholeAt);
      plan.underWay.delete(child);
      return this.#settle(plan, asked, terms, requests, reply, allotment.given);
    } finally {
      plan.underWay.delete(child);
      plan.settled();
    }
  }

  /** Reserves what the requests may take, and resolves when that is stored. */
  async #reserve(plan: Plan, asked: PlanRequest, terms: PlanPolicies, requests: LedgerRequest[]): Promise<Reserved> {
    let known = this.#hasHeardOf(asked) ? null : await this.#totalsOf(asked);
    const before = plan.turn;
    let done = () => {};
    plan.turn = new Promise<void>((resolve) => {
      done = resolve;
    });
    let made: { result: Reserved | null; stored: Promise<void> };
    try {
      await before;
      const patience = this.#host.now() + PATIENCE_MS;
      for (;;) {
        const patient = this.#host.now() < patience && [...plan.underWay.values()].some((tokens) => tokens > 0);
        made = this.#tryReserve(asked, terms, known, requests, patient);
        // Nobody is refused because of what nobody takes: calls under way may return it.
        if (patient && made.result?.short) await this.#nextSettled(plan, patience);
        else if (!made.result) known = await this.#totalsOf(asked);
        else break;
      }
      plan.underWay.set(asked.child, made.result.allotment.given);
    } finally {
      done();
    }
    await made.stored;
    return made.result;
  }

  /** Changes nothing if there is too little and `patient`, or if the child's totals are not known. */
  #tryReserve(
    { address, child }: PlanRequest,
    terms: PlanPolicies,
    known: Totals | null,
    requests: LedgerRequest[],
    patient: boolean,
  ) {
    const made = this.#host.keeper.update(address, BEHIND, (meters, state, now) => {
      const change = reserve(meters, state, terms, child, known, requests, now);
      return patient && change.result?.short ? { ...change, state, changed: false, leased: false } : change;
    });
    made.stored.catch(() => {});
    return made;
  }

  #hasHeardOf({ address, child }: PlanRequest): boolean {
    const { result, stored } = this.#host.keeper.update(address, BEHIND, (_, state, now) => isKnown(state, child, now));
    stored.catch(() => {});
    return result;
  }

  async #totalsOf({ address, child }: PlanRequest): Promise<Totals> {
    return (await this.#host.askChild(address, child, [], NOTHING, this.#host.now())).totals;
  }

  #nextSettled(plan: Plan, until: number): Promise<void> {
    return new Promise((resolve) => {
      plan.settled = resolve;
      this.#host.later(Math.max(until - this.#host.now(), 1), resolve);
    });
  }

  #settle(
    plan: Plan,
    asked: PlanRequest,
    terms: PlanPolicies,
    requests: LedgerRequest[],
    reply: ChildReply,
    given: number,
  ) {
    let underWay = 0;
    for (const tokens of plan.underWay.values()) underWay += tokens;
    const { result, stored } = this.#host.keeper.update(asked.address, BEHIND, (meters, state, now) =>
      settle(meters, state, terms, asked.child, requests, reply, given, underWay, now),
    );
    // If that is lost, the child's next answer tells it again.
    stored.catch(() => {});
    return result;
  }
}

/** Takes those off the queue that travel together: they are under the same plan. */
function nextBatch(queue: Waiting[]): Waiting[] {
  const { policies } = (queue[0] as Waiting).plan;
  const end = queue.findIndex(({ plan }, nth) => nth === BATCH_MAX || !sameSpecs(plan.policies, policies));
  return queue.splice(0, end < 0 ? queue.length : end);
}

function check(plan: PlanRequest | undefined): asserts plan is PlanRequest {
  for (const name of ["address", "child"] as const) {
    if (typeof plan?.[name] !== "string" || plan[name] === "") {
      throw badOption(`plan.${name}`, plan?.[name], "a non-empty string: these ledgers are for tenants, with a plan");
    }
  }
  if (!Array.isArray(plan?.policies)) throw badOption("plan.policies", plan?.policies, "an array of policies");
  requireInteger("plan.childrenMax", plan?.childrenMax, 1, CHILDREN_MAX);
}

function tooMany({ childrenMax }: PlanRequest): LimiterError {
  const message = `the tenant has ${childrenMax} endpoints, as many as it may; one more is refused, and nothing was decided`;
  return new LimiterError("children_max", message);
}
