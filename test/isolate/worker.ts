// A Worker whose requests share one limiter, as those of an isolate do. Its path /cancelled makes
// a request that is cancelled while it carries the others' batch to the ledger.
import { createLimiter, exact, type Limiter, type Link, tokenBucket } from "sluice";
import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";

export { LedgerObject };

interface Env {
  LEDGER: LedgerNamespace;
  SELF: { fetch(url: string, init?: RequestInit): Promise<Response> };
}
declare const scheduler: { wait(ms: number): Promise<void> };

const BUCKET = tokenBucket({ rate: 1, per: "1d", burst: 10 });
const DENY = { onUnreachable: "deny", deadline: "4s" } as const;
let plain: Limiter | undefined;
let limiter: Limiter | undefined;
/** Told when the first batch is on its way, and not yet at the ledger. */
let underWay = () => {};

function makeLimiter(env: Env): Limiter {
  const ledgers = durableObject(env.LEDGER);
  let first = true;
  const link: Link = {
    ...ledgers,
    async ask(address, request) {
      if (first) {
        first = false;
        underWay();
        await scheduler.wait(60_000);
      }
      return ledgers.ask(address, request);
    },
  };
  return createLimiter({ policy: BUCKET, design: exact(), link, ...DENY });
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/cancelled") {
      const cancel = new AbortController();
      const sent = new Promise<void>((resolve) => {
        underWay = resolve;
      });
      const cancelled = env.SELF.fetch("http://self/", { signal: cancel.signal }).catch(() => null);
      await Promise.race([sent, scheduler.wait(2000)]);
      cancel.abort();
      await cancelled;
      return new Response("cancelled");
    }
    if (pathname === "/plain") {
      plain ??= createLimiter({
        policy: BUCKET,
        name: "plain",
        design: exact(),
        link: durableObject(env.LEDGER),
        ...DENY,
      });
      const decision = await plain.limit(searchParams.get("key") as string);
      return Response.json({ ...decision, requests: plain.stats().requests });
    }
    limiter ??= makeLimiter(env);
    return Response.json(await limiter.limit("key"));
  },
};
