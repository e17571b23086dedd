// What every host of the crash suite serves: a budget for each durability, and two over ledgers
// with a mistake, which the judge must find.
import { createLimiter, exact, type Limiter, type Link, lazy, reserve, strict, tokenBucket } from "sluice";

/** Tokens of each budget. None comes back within a test. */
export const LIMIT = 1000;
export const CHUNK = 5;

export const DURABILITIES = {
  strict: strict(),
  reserve: reserve(CHUNK),
  // Longer than any round: what a crash finds was never written.
  lazy: lazy({ every: "1h" }),
  hasty: strict(),
  forgetful: strict(),
};
export type Budget = keyof typeof DURABILITIES;

const MISTAKES: Partial<Record<Budget, (link: Link) => Link>> = {
  /** Promises to be strict, and answers before it commits. */
  hasty: (link) => ({
    ...link,
    ask: (address, request) => link.ask(address, { ...request, durability: lazy({ every: "20ms" }) }),
  }),
  /** Does not know after a crash who had asked before. */
  forgetful: (link) => {
    const life = crypto.randomUUID();
    return {
      ...link,
      ask: (address, request) => link.ask(address, { ...request, holder: `${request.holder} ${life}` }),
    };
  },
};

interface Served {
  link: Link;
  limiter: Limiter;
}

/** Answers `/take` and `/left` with a decision, and a POST to `/ask` with a ledger's reply. */
export function serve(linkFor: (budget: Budget) => Link): (request: Request) => Promise<Response> {
  const served = new Map<Budget, Served>();
  const open = (budget: Budget): Served => {
    const link = MISTAKES[budget]?.(linkFor(budget)) ?? linkFor(budget);
    const policy = tokenBucket({ rate: 1, per: "365d", burst: LIMIT });
    const options = { policy, name: budget, design: exact(), link, deadline: "20s" };
    return { link, limiter: createLimiter({ ...options, onUnreachable: "deny" }) };
  };
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const budget = searchParams.get("budget") as Budget;
    let at = served.get(budget);
    if (!at) {
      at = open(budget);
      served.set(budget, at);
    }
    if (pathname === "/ask")
      return Response.json(await at.link.ask(`asked ${budget}`, (await request.json()) as never));
    return Response.json(await (pathname === "/left" ? at.limiter.peek("key") : at.limiter.limit("key")));
  };
}
