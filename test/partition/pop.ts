// A PoP: a Worker that decides by a limiter for each budget. Its ledgers are at home, behind a
// network that the test has in its hands.
//   /limit?budget=bucket&cost=3   a decision
//   /peek?budget=bucket           what the ledger has left
//   /bounds?budget=bucket&pops=3  what the design promises
//   /stats?budget=bucket          what the limiter did so far
//   /close                        hands everything back; limiters after that are new holders
import { createLimiter, type Limiter } from "sluice";
import { remote } from "sluice/remote";
import { BUDGETS, type Budget, POLICIES } from "./budgets.ts";
import { designOf } from "./designs.ts";

export interface PopEnv {
  HOME: string;
  TOKEN: string;
  /** Like "lease:ttl=2s". */
  DESIGN: string;
  DEADLINE: string;
  /** How many may share a key: one more than there are, since one is killed and starts anew. */
  POPS: string;
}

const limiters = new Map<Budget, Limiter>();

function limiterOf(budget: Budget, env: PopEnv): Limiter {
  let limiter = limiters.get(budget);
  if (!limiter) {
    limiter = createLimiter({
      policy: POLICIES[budget],
      name: budget,
      design: designOf(env.DESIGN),
      link: remote(env.HOME, { token: env.TOKEN }),
      pops: Number(env.POPS),
      onUnreachable: "deny",
      deadline: env.DEADLINE,
    });
    limiters.set(budget, limiter);
  }
  return limiter;
}

async function answer(path: string, query: URLSearchParams, env: PopEnv): Promise<unknown> {
  if (path === "/close") {
    const closing = [...limiters.values()];
    limiters.clear();
    await Promise.all(closing.map((limiter) => limiter.close()));
    return BUDGETS;
  }
  const limiter = limiterOf(query.get("budget") as Budget, env);
  if (path === "/limit") return limiter.limit("key", { cost: Number(query.get("cost")) });
  if (path === "/peek") return limiter.peek("key");
  if (path === "/bounds") return limiter.bounds({ pops: Number(query.get("pops")) });
  if (path === "/stats") return limiter.stats();
  return null;
}

export default {
  async fetch(request: Request, env: PopEnv): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    return Response.json(await answer(pathname, searchParams, env));
  },
};
