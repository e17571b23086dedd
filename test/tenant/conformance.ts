// What every host of tenants must do, with facets or without. A host's test calls this in a few
// lines; the cases use no clock, so that they can run in any runtime.
import { describe, expect, test } from "vitest";
import type { Policy } from "../../ts/contract.ts";
import {
  createLimiter,
  exact,
  fixedWindow,
  LimiterError,
  type LimiterOptions,
  type Link,
  lease,
  slidingWindow,
  tokenBucket,
} from "../../ts/index.ts";
import type { LedgerReply, LedgerRequest } from "../../ts/ledger/messages.ts";

/** A bucket that doesn't refill while a test runs. */
const bucket = (burst: number) => tokenBucket({ rate: 1, per: "365d", burst });

let names = 0;
/** A limiter whose tenants no other test has touched. */
export function tenantLimiter(
  link: Link,
  plan: Policy | Policy[],
  policy: Policy | Policy[],
  more: Partial<LimiterOptions> = {},
) {
  const options = { name: `tenants-${names++}`, design: exact(), onUnreachable: "deny", deadline: "20s" } as const;
  return createLimiter({ policy, plan, link, ...options, ...more });
}

/** Whatever `limit` is asked, as a ledger is asked it. */
export function recorded(link: Link): { link: Link; sent: [string, LedgerRequest][]; replies: LedgerReply[] } {
  const sent: [string, LedgerRequest][] = [];
  const replies: LedgerReply[] = [];
  const ask = async (address: string, request: LedgerRequest) => {
    sent.push([address, request]);
    const reply = await link.ask(address, request);
    replies.push(reply);
    return reply;
  };
  return { link: { ...link, ask }, sent, replies };
}

/**
 * @param open    a link to the host
 * @param reopen  the link after the host has stopped and started again
 */
export function tenantConformance(
  host: string,
  open: (options?: { childrenMax?: number }) => Promise<Link>,
  reopen?: () => Promise<Link>,
): void {
  describe(`${host} as a host of tenants`, () => {
    test("an endpoint has its own limit, and the tenant's plan caps all of them", async () => {
      const limiter = tenantLimiter(await open(), bucket(10), bucket(4));
      for (let nth = 0; nth < 4; nth++) expect((await limiter.limit(["acme", "a"])).success).toBe(true);
      const own = await limiter.limit(["acme", "a"]);
      expect(own).toMatchObject({ success: false, reason: "limited", limit: 4, remaining: 0, source: "ledger" });
      expect(own.each?.map(({ success, limit, remaining }) => [success, limit, remaining])).toEqual([
        [false, 4, 0],
        [true, 10, 6],
      ]);
      for (const endpoint of ["b", "b", "b", "c", "c"])
        expect((await limiter.limit(["acme", endpoint])).success).toBe(true);
      expect(await limiter.limit(["acme", "c"])).toMatchObject({
        success: true,
        limit: 10,
        remaining: 0,
        reason: "ok",
      });
      const capped = await limiter.limit(["acme", "c"]);
      expect(capped).toMatchObject({ success: false, reason: "plan_cap", limit: 10, remaining: 0 });
      expect(capped.retryAfterMs).toBeGreaterThan(1000);
      expect(capped.each?.map(({ success, remaining }) => [success, remaining])).toEqual([
        [true, 1],
        [false, 0],
      ]);
      // Another tenant has all of its own.
      expect(await limiter.limit(["other", "c"])).toMatchObject({ success: true, remaining: 3 });
    });

    test("all or nothing: what one of them refuses is charged to neither", async () => {
      const limiter = tenantLimiter(await open(), bucket(10), bucket(6));
      expect(await limiter.limit(["acme", "a"], { cost: 5 })).toMatchObject({ success: true, remaining: 1 });
      expect(await limiter.limit(["acme", "a"], { cost: 2 })).toMatchObject({ success: false, reason: "limited" });
      expect(await limiter.limit(["acme", "b"], { cost: 6 })).toMatchObject({
        success: false,
        reason: "plan_cap",
        remaining: 5,
      });
      expect(await limiter.limit(["acme", "b"], { cost: 5 })).toMatchObject({ success: true, remaining: 0 });
      expect(await limiter.peek(["acme", "a"])).toMatchObject({ success: false, reason: "plan_cap", remaining: 0 });
      expect((await limiter.peek(["acme", "a"])).each?.map(({ remaining }) => remaining)).toEqual([1, 0]);
    });

    test("says never to what exceeds either capacity", async () => {
      const limiter = tenantLimiter(await open(), bucket(5), bucket(8));
      const never = { success: false, retryAfterMs: null, reason: "cost_exceeds_capacity" };
      expect(await limiter.limit(["acme", "a"], { cost: 6 })).toMatchObject({ ...never, limit: 5 });
      expect(await limiter.limit(["acme", "a"], { cost: 9 })).toMatchObject(never);
      expect(await limiter.limit(["acme", "a"], { cost: 5 })).toMatchObject({ success: true, remaining: 0 });
    });

    test("endpoints by name have policies of their own, and so may plans have several", async () => {
      const plan = [bucket(20), fixedWindow({ limit: 12, window: "365d" })];
      const endpoints = { "POST /login": bucket(2), export: [bucket(9), slidingWindow({ limit: 3, window: "1d" })] };
      const limiter = tenantLimiter(await open(), plan, bucket(5), { endpoints });
      expect(limiter.policies.map(({ capacity }) => capacity)).toEqual([5, 20, 12]);
      expect(limiter.policiesOf(["acme", "export"]).map(({ capacity }) => capacity)).toEqual([9, 3, 20, 12]);
      expect(await limiter.limit(["acme", "POST /login"])).toMatchObject({ limit: 2, remaining: 1 });
      expect(await limiter.limit(["acme", "export"], { cost: 3 })).toMatchObject({ limit: 3, remaining: 0 });
      expect(await limiter.limit(["acme", "export"])).toMatchObject({ success: false, limit: 3, reason: "limited" });
      expect(await limiter.limit(["acme", "toString"], { cost: 5 })).toMatchObject({ limit: 5, remaining: 0 });
      expect(await limiter.limit(["acme", "else"], { cost: 4 })).toMatchObject({
        success: false,
        limit: 12,
        remaining: 3,
      });
    });

    test("gives back to both, resets the endpoint alone, and settles reservations", async () => {
      const limiter = tenantLimiter(await open(), bucket(10), bucket(6));
      const left = async () => (await limiter.peek(["acme", "a"])).each?.map(({ remaining }) => remaining);
      await limiter.limit(["acme", "a"], { cost: 5 });
      await limiter.refund(["acme", "a"], 3);
      expect(await left()).toEqual([4, 8]);
      await limiter.refund(["acme", "b"], 1);
      expect(await left()).toEqual([4, 9]);
      await limiter.refund(["acme", "a"], 1000);
      expect(await left()).toEqual([6, 10]);
      await limiter.limit(["acme", "a"], { cost: 6 });
      await limiter.reset(["acme", "a"]);
      expect(await left()).toEqual([6, 4]);
      const hold = await limiter.reserve(["acme", "a"], 4);
      expect(await left()).toEqual([2, 0]);
      expect(await hold.commit(1)).toBe(1);
      expect(await left()).toEqual([5, 3]);
      expect(await limiter.wait(["acme", "a"], { cost: 3 })).toMatchObject({ success: true });
      expect(await limiter.wait(["acme", "a"], { maxWait: 0 })).toMatchObject({ success: false, reason: "plan_cap" });
      expect(limiter.stats()).toMatchObject({ admitted: 4, denied: 1 });
    });

    test("concurrent callers over all endpoints get the plan exactly, and no endpoint more than its own", async () => {
      const link = await open();
      const name = `shared-${names++}`;
      const limiters = [0, 1, 2].map(() => tenantLimiter(link, bucket(50), bucket(9), { name }));
      const calls = Array.from({ length: 300 }, (_, nth) => {
        const endpoint = `e${nth % 10}`;
        return limiters[nth % 3]?.limit(["acme", endpoint]).then((decision) => ({ endpoint, ...decision }));
      });
      const admitted = (await Promise.all(calls)).filter((decision) => decision?.success);
      expect(admitted.length).toBe(50);
      for (let nth = 0; nth < 10; nth++) {
        expect(admitted.filter((decision) => decision?.endpoint === `e${nth}`).length).toBeLessThanOrEqual(9);
      }
    });

    test("nobody is refused by what an endpoint is about to refuse", async () => {
      // Each call reserves all of the plan, and only the endpoint with room for it takes it.
      const limiter = tenantLimiter(await open(), bucket(10), bucket(1), { endpoints: { wide: bucket(10) } });
      const narrow = Array.from({ length: 8 }, (_, nth) => limiter.limit(["acme", `narrow-${nth}`], { cost: 10 }));
      const wide = limiter.limit(["acme", "wide"], { cost: 10 });
      expect((await Promise.all(narrow)).filter(({ success }) => success)).toEqual([]);
      expect(await wide).toMatchObject({ success: true, remaining: 0 });
    });

    test("many takes travel as one request for each endpoint, at most two under way behind each other", async () => {
      const { link, sent } = recorded(await open());
      const limiter = tenantLimiter(link, bucket(500), bucket(200));
      await Promise.all(Array.from({ length: 300 }, (_, nth) => limiter.limit(["acme", `e${nth % 3}`])));
      expect(sent.length).toBeLessThanOrEqual(6);
    });

    test("a repeated request has the same answer, and is charged once on both", async () => {
      const link = await open();
      const { link: watched, sent } = recorded(link);
      const limiter = tenantLimiter(watched, bucket(10), bucket(8));
      expect(await limiter.limit(["acme", "a"], { cost: 3 })).toMatchObject({ success: true, remaining: 5 });
      const [address, request] = sent[0] as [string, LedgerRequest];
      const again = await Promise.all([link.ask(address, request), link.ask(address, request)]);
      for (const { outcomes } of again) expect(outcomes.filter((_, cell) => cell % 4 < 2)).toEqual([1, 5, 1, 7]);
      expect((await limiter.peek(["acme", "a"])).each?.map(({ remaining }) => remaining)).toEqual([5, 7]);
    });

    test("leases are tokens of the endpoint and of the plan at once", async () => {
      const link = await open();
      const name = `leased-${names++}`;
      const leasing = tenantLimiter(link, bucket(100), bucket(60), { name, design: lease({ ttl: "30s" }) });
      const others = tenantLimiter(link, bucket(100), bucket(60), { name });
      let admitted = 0;
      for (let nth = 0; nth < 20; nth++) if ((await leasing.limit(["acme", "a"])).success) admitted++;
      expect(admitted).toBe(20);
      const { leased = 0, held = 0 } = leasing.stats();
      expect(leased).toBeGreaterThan(5);
      expect(held).toBeGreaterThan(0);
      // What is leased can't be had by another endpoint either.
      let plan = 0;
      for (const endpoint of ["b", "c", "d"]) {
        while ((await others.limit(["acme", endpoint])).success) plan++;
      }
      expect(plan + 20 + held).toBe(100);
      await leasing.close();
      expect(await others.peek(["acme", "d"])).toMatchObject({ success: true, remaining: held });
    });

    test("refusals are remembered, and forgotten when budget is given back to the plan by another endpoint", async () => {
      const limiter = tenantLimiter(await open(), bucket(4), bucket(3));
      await limiter.limit(["acme", "a"], { cost: 3 });
      await limiter.limit(["acme", "b"]);
      const refused = { success: false, reason: "plan_cap", limit: 4, remaining: 0 };
      expect(await limiter.limit(["acme", "b"])).toMatchObject({ ...refused, source: "ledger" });
      expect(await limiter.limit(["acme", "b"])).toMatchObject({ ...refused, source: "cache" });
      expect(await limiter.limit(["acme", "c"], { cost: 2 })).toMatchObject({ ...refused, source: "ledger" });
      expect((await limiter.limit(["other", "b"])).success).toBe(true);
      await limiter.refund(["acme", "a"], 2);
      expect(await limiter.limit(["acme", "b"])).toMatchObject({ success: true, source: "ledger" });
      expect(await limiter.limit(["acme", "c"])).toMatchObject({ success: true, source: "ledger" });
    });

    test("says what it costs", async () => {
      const link = await open();
      const exactly = tenantLimiter(link, bucket(100), bucket(10)).bounds();
      expect(exactly).toMatchObject({ overshoot: 0, stranded: 0, roundTripsPerAdmit: 1, writesPerAdmit: 3 });
      expect(exactly.crash).toEqual({ overshoot: 0, lost: 100 });
      const leased = tenantLimiter(link, bucket(100), bucket(10), { design: lease() }).bounds({ pops: 9 });
      expect(leased).toMatchObject({ overshoot: 0, stranded: 5, writesPerAdmit: 6 });
    });

    test("a tenant has no more endpoints than it may, and says so", async () => {
      const link = await open({ childrenMax: 3 });
      const limiter = tenantLimiter(link, bucket(100), bucket(10));
      for (const endpoint of ["a", "b", "c"]) expect((await limiter.limit(["acme", endpoint])).success).toBe(true);
      const refused = await limiter.limit(["acme", "d"]).catch((error) => error);
      expect(refused).toBeInstanceOf(LimiterError);
      expect(refused.code).toBe("children_max");
      expect(refused.message).toContain("3 endpoints");
      expect((await limiter.limit(["acme", "c"])).each?.map(({ remaining }) => remaining)).toEqual([8, 96]);
      expect((await limiter.limit(["other", "d"])).success).toBe(true);
    });

    test("refuses what it does not understand, and decides nothing", async () => {
      const link = await open();
      const { link: watched, sent } = recorded(link);
      const limiter = tenantLimiter(watched, bucket(10), bucket(10));
      await limiter.peek(["acme", "a"]);
      const [address, good] = sent[0] as [string, LedgerRequest];
      const bad: LedgerRequest[] = [
        { ...good, seq: 11, ops: [0, 2, 9, 1] },
        { ...good, seq: 12, ops: [0, 2, 0, 1.5] },
        { ...good, seq: 13, ops: [0, 2, 0] },
        { ...good, seq: 14, policies: [] },
        { ...good, seq: 15, plan: { ...good.plan, child: "" } as never },
        { ...good, seq: 16, plan: { ...good.plan, policies: [] } as never },
        { ...good, seq: 17, plan: { ...good.plan, policies: [{ kind: "leakyBucket" }] } as never },
        { ...good, seq: 18, plan: { ...good.plan, childrenMax: 0 } as never },
      ];
      const asked = await Promise.all(
        [...bad, { ...good, holder: "other", ops: [0, 1] }].map((one) => link.ask(address, one)),
      );
      for (const reply of asked.slice(0, -1)) expect(reply).toMatchObject({ outcomes: [], error: { code: "request" } });
      expect(asked.at(-1)?.error).toBeUndefined();
      expect((await limiter.peek(["acme", "a"])).each?.map(({ remaining }) => remaining)).toEqual([9, 9]);
    });

    if (!reopen) return;
    test("remembers levels, plan and answers over a restart", async () => {
      const { link, sent } = recorded(await open());
      const name = `restart-${names++}`;
      const limiter = tenantLimiter(link, bucket(10), bucket(8), { name });
      expect(await limiter.limit(["acme", "a"], { cost: 3 })).toMatchObject({ success: true });
      // Behind the answers the plan stores what was returned to it.
      await new Promise((resolve) => setTimeout(resolve, 400));
      const again = await reopen();
      const [address, request] = sent[0] as [string, LedgerRequest];
      expect((await again.ask(address, request)).outcomes.filter((_, cell) => cell % 4 < 2)).toEqual([1, 5, 1, 7]);
      const after = tenantLimiter(again, bucket(10), bucket(8), { name });
      expect((await after.limit(["acme", "a"], { cost: 2 })).each?.map(({ remaining }) => remaining)).toEqual([3, 5]);
      expect((await after.limit(["acme", "b"], { cost: 6 })).reason).toBe("plan_cap");
    });
  });
}
