// What both hosts of the crash suite serve: one budget for each durability, and raw requests.
import {
  createLimiter,
  type Durability,
  exact,
  type Limiter,
  type Link,
  lazy,
  reserve,
  strict,
  tokenBucket,
} from "sluice";

/** Tokens of each budget. None comes back within a test. */
export const LIMIT = 1000;
export const CHUNK = 5;

export const DURABILITIES: Record<string, Durability> = {
  strict: strict(),
  reserve: reserve(CHUNK),
  // Longer than any round: what a crash finds is never written.
  lazy: lazy({ every: "1h" }),
};

/** Answers `/take?mode=strict` with a decision, and a POST to `/ask` with a ledger's reply. */
export function serve(linkFor: (mode: string) => Link): (request: Request) => Promise<Response> {
  const limiters = new Map<string, Limiter>();
  const limiterFor = (mode: string) => {
    let limiter = limiters.get(mode);
    if (!limiter) {
      const policy = tokenBucket({ rate: 1, per: "365d", burst: LIMIT });
      const link = linkFor(mode);
      limiter = createLimiter({ policy, name: mode, design: exact(), link, onUnreachable: "deny", deadline: "20s" });
      limiters.set(mode, limiter);
    }
    return limiter;
  };
  return async (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/ask") {
      return Response.json(await linkFor("strict").ask("asked", (await request.json()) as never));
    }
    return Response.json(await limiterFor(url.searchParams.get("mode") ?? "strict").limit("key"));
  };
}
