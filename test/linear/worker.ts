// Several holders of one key's ledger, in one Worker.
import { createLimiter, exact, type Limiter, tokenBucket } from "sluice";
import { durableObject, type LedgerNamespace, LedgerObject } from "sluice/durable-object";

export { LedgerObject };

const limiters = new Map<string, Limiter>();

export default {
  async fetch(request: Request, env: { LEDGER: LedgerNamespace }): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const of = (name: string) => query.get(name) as string;
    const holder = `${of("history")}-${of("holder")}`;
    let limiter = limiters.get(holder);
    if (!limiter) {
      const policy = tokenBucket({ rate: 1, per: "365d", burst: Number(of("limit")) });
      const link = durableObject(env.LEDGER);
      limiter = createLimiter({
        policy,
        name: of("history"),
        design: exact({ denialsMax: Number(of("denialsMax")) }),
        link,
        onUnreachable: "deny",
        deadline: "9s",
      });
      limiters.set(holder, limiter);
    }
    const amount = Number(of("amount"));
    const kind = of("kind");
    if (kind === "take") return Response.json(await limiter.limit("key", { cost: amount }));
    if (kind === "peek") return Response.json(await limiter.peek("key", { cost: amount }));
    if (kind === "refund") return Response.json(await limiter.refund("key", amount));
    return Response.json(await limiter.reset("key"));
  },
};
