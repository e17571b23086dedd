// Runs inside workerd: drives one key on one Durable Object, with many calls in flight.
import { DurableObject } from "cloudflare:workers";
import { createLimiter, type Durability, exact, lazy, lease, reserve, sharded, strict, tokenBucket } from "sluice";
import { durableObject, type LedgerNamespace, LedgerObject, MiddleObject } from "sluice/durable-object";

export { LedgerObject, MiddleObject };

interface Sql {
  exec(query: string, ...values: unknown[]): { toArray(): Record<string, number>[] };
}

/** The plain way: one call and one write for each request. */
export class PlainObject extends DurableObject {
  readonly #sql: Sql;
  #tat: number;

  constructor(ctx: { storage: { sql: Sql } }, env: unknown) {
    super(ctx as never, env as never);
    this.#sql = ctx.storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS bucket (id INTEGER PRIMARY KEY, tat REAL)");
    this.#tat = this.#sql.exec("SELECT tat FROM bucket").toArray()[0]?.tat ?? 0;
  }

  async take(cost: number, ms: number, burst: number): Promise<{ success: boolean; retryAfterMs: number }> {
    const now = Date.now();
    const tat = Math.max(this.#tat, now) + cost * ms;
    if (tat - now > burst * ms) return { success: false, retryAfterMs: tat - now - burst * ms };
    this.#tat = tat;
    this.#sql.exec("INSERT OR REPLACE INTO bucket (id, tat) VALUES (0, ?)", tat);
    return { success: true, retryAfterMs: 0 };
  }
}

interface Env {
  LEDGER: LedgerNamespace;
  MIDDLE: LedgerNamespace;
  PLAIN: { idFromName(name: string): unknown; get(id: unknown): PlainObject };
}

const RATE_PER_S = 1e9;
/** Ms that a token takes in the plain way: beside an epoch time a double loses anything much smaller. */
const PLAIN_MS = 1e-3;
/** A lease, asked without making a promise. */
const DECIDE = "lease, by decide()";
/** Holders that ask for a hot key. */
const HOLDERS = 32;

const DURABILITIES: Record<string, Durability> = {
  strict: strict(),
  lease: strict(),
  reserve: reserve(10_000),
  lazy: lazy({ every: "1s" }),
};

interface Caller {
  /** A call on the key, in the way that is measured. */
  call(): { success: boolean } | Promise<{ success: boolean }>;
  /** Requests to ledgers so far. */
  requests(): number;
}

function callerOf(mode: string, env: Env, round: string): Caller {
  if (mode === "plain") {
    const stub = () => env.PLAIN.get(env.PLAIN.idFromName(round));
    let requests = 0;
    const call = () => {
      requests++;
      return stub().take(1, PLAIN_MS, RATE_PER_S);
    };
    return { call, requests: () => requests };
  }
  const link = durableObject(env.LEDGER, { durability: DURABILITIES[mode] ?? strict(), middle: env.MIDDLE });
  const policy = tokenBucket({ rate: RATE_PER_S, per: "1s" });
  const holder = () =>
    createLimiter({ policy, name: round, design: designOf(mode), link, onUnreachable: "deny", deadline: "10s" });
  // As many holders as there are for a hot key: each has one batch under way at a time.
  const holders = Array.from({ length: mode.startsWith("hot") ? HOLDERS : 1 }, holder);
  let nth = 0;
  const next = () => holders[nth++ % holders.length] as ReturnType<typeof holder>;
  return {
    call: mode === DECIDE ? () => next().decide("key") : () => next().limit("key"),
    requests: () => holders.reduce((sum, holder) => sum + (holder.stats().requests ?? 0), 0),
  };
}

/** "exact", "lease", "hot exact", "hot leased 4", "hot static 16". */
function designOf(mode: string): ReturnType<typeof exact> {
  const [, split, shards] = mode.split(" ");
  if (split === "leased") return sharded({ shards: Number(shards) });
  if (split === "static") return sharded({ shards: Number(shards), split, route: "pinned" });
  return mode === "lease" || mode === DECIDE ? lease() : exact();
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const inFlight = Number(url.searchParams.get("inFlight"));
    const ms = Number(url.searchParams.get("ms"));
    const mode = url.searchParams.get("mode") ?? "plain";
    const { call, requests } = callerOf(mode, env, `${mode}-${url.searchParams.get("round")}`);
    await call();
    const requestsBefore = requests();
    const start = Date.now();
    let admitted = 0;
    let calls = 0;
    const drive = async () => {
      while (Date.now() - start < ms) {
        calls++;
        const decided = call();
        // Not by instanceof: what an object's call returns is thenable, and no Promise.
        const { success } = "then" in decided ? await decided : decided;
        if (success) admitted++;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, drive));
    return Response.json({ admitted, calls, requests: requests() - requestsBefore, ms: Date.now() - start });
  },
};
