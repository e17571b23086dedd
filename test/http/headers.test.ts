import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Limiter } from "../../ts/contract.ts";
import { embedded } from "../../ts/hosts/node.ts";
import { byIp, type HeaderOptions, rateLimit } from "../../ts/http/fetch.ts";
import { createLimiter, exact, fixedWindow, type Policy, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { anyPolicy, fakeLimiter, fixedLimiter, itemsOf } from "./support.ts";

const PEER = { remoteAddr: { hostname: "192.0.2.1" } };
const ok = () => new Response("ok");

function server(limiter: Limiter, headers: HeaderOptions = {}, key: () => string | string[] = () => "someone") {
  const handler = rateLimit({ limiter, key, headers }, (_: Request, __: unknown) => ok());
  return () => handler(new Request("http://localhost/"), PEER);
}

const standard = (response: Response) => ({
  policies: itemsOf(response.headers.get("ratelimit-policy")),
  limits: itemsOf(response.headers.get("ratelimit")),
});

/** The numbers of a list's first item. */
const paramsOf = (items: ReturnType<typeof itemsOf>) => (items[0]?.params ?? {}) as Record<string, number | undefined>;

describe("the standard headers", () => {
  test("are structured fields that name the policy, its quota and window, and what is left", async () => {
    const { limiter, ambient } = fakeLimiter(tokenBucket({ rate: 100, per: "1m", burst: 20 }));
    const call = server(limiter, { pk: false });
    const first = standard(await call());
    expect(first.policies).toEqual([{ name: "api", params: { q: 20, w: 12 } }]);
    expect(first.limits).toEqual([{ name: "api", params: { r: 19, t: 1 } }]);
    for (let used = 1; used < 20; used++) await call();
    const refused = await call();
    expect(standard(refused).limits).toEqual([{ name: "api", params: { r: 0, t: 1 } }]);
    expect(refused.headers.get("retry-after")).toBe("1");
    await ambient.pass(12_000);
    expect(standard(await call()).limits[0]?.params).toEqual({ r: 19, t: 1 });
  });

  test("a window's quota is its limit; a window of less than a second, or of part of one, is told as more", async () => {
    for (const [policy, q, w] of [
      [fixedWindow({ limit: 5, window: "1h" }), 5, 3600],
      [slidingWindow({ limit: 5, window: 1500 }), 5, 2],
      [fixedWindow({ limit: 5, window: 10 }), 5, 1],
      [tokenBucket({ rate: 1000, burst: 20 }), 20, 1],
      [fixedWindow({ limit: 2 ** 51, window: "1h" }), 999_999_999_999_999, 3600],
    ] as [Policy, number, number][]) {
      const { policies } = standard(await server(fakeLimiter(policy).limiter, { pk: false })());
      expect(policies).toEqual([{ name: "api", params: { q, w } }]);
    }
  });

  test("a client that sends no more than r in t, from any answer on, is not refused", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyPolicy,
        fc.array(fc.nat(5000), { maxLength: 30 }),
        fc.nat(30_000),
        async (policy, gaps, pause) => {
          const { limiter, ambient } = fakeLimiter(policy);
          const call = server(limiter, { pk: false });
          for (const gap of gaps) {
            await call();
            await ambient.pass(gap);
          }
          const { r = 0, t = 0 } = paramsOf(standard(await call()).limits);
          // Anywhere in the effective window.
          await ambient.pass(pause % (1000 * t + 1));
          for (let sent = 0; sent < r; sent++) expect((await call()).status).toBe(200);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("a client that sends q every w seconds is never refused", async () => {
    await fc.assert(
      fc.asyncProperty(anyPolicy, async (policy) => {
        const { limiter, ambient } = fakeLimiter(policy);
        const call = server(limiter, { pk: false });
        for (let round = 0; round < 4; round++) {
          const { q = 0, w = 0 } = paramsOf(standard(await call()).policies);
          for (let sent = 1; sent < q; sent++) expect((await call()).status).toBe(200);
          await ambient.pass(1000 * w);
        }
      }),
      { numRuns: 40 },
    );
  });

  test("Retry-After is the least whole seconds that suffice, and never before t", async () => {
    await fc.assert(
      fc.asyncProperty(anyPolicy, fc.array(fc.nat(3000), { maxLength: 40 }), async (policy, gaps) => {
        for (const early of [0, 1]) {
          const { limiter, ambient } = fakeLimiter(policy);
          const call = server(limiter, { pk: false });
          let response = await call();
          for (const gap of gaps) {
            await ambient.pass(gap);
            response = await call();
          }
          while (response.status === 200) response = await call();
          const seconds = Number(response.headers.get("retry-after"));
          expect(seconds).toBeGreaterThanOrEqual(1);
          const t = paramsOf(standard(response).limits).t ?? 0;
          expect(seconds).toBeGreaterThanOrEqual(t);
          if (seconds === 1 && early === 1) continue;
          await ambient.pass(1000 * (seconds - early));
          expect((await call()).status).toBe(early === 1 ? 429 : 200);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("retryAfterMs is exact: then the same call succeeds, and 1 ms earlier it fails", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyPolicy,
        fc.array(fc.nat(3000), { maxLength: 40 }),
        fc.nat(1000),
        async (policy, gaps, weight) => {
          const cost = 1 + (weight % policy.capacity);
          for (const early of [0, 1]) {
            const { limiter, ambient } = fakeLimiter(policy);
            for (const gap of gaps) {
              await limiter.limit("k");
              await ambient.pass(gap);
            }
            let decision = await limiter.limit("k", { cost });
            while (decision.success) decision = await limiter.limit("k", { cost });
            await ambient.pass((decision.retryAfterMs as number) - early);
            expect((await limiter.limit("k", { cost })).success).toBe(early === 0);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test("several policies are all told, by names of their own", async () => {
    const policies = [
      fixedWindow({ limit: 10, window: "1s" }),
      fixedWindow({ limit: 1000, window: "1d" }),
      slidingWindow({ limit: 900, window: "1d" }),
      fixedWindow({ limit: 5, window: 1500 }),
    ];
    const now = fakeLimiter(policies[0] as Policy).ambient.now();
    const each = policies.map(({ capacity }, index) => ({
      success: index !== 1,
      limit: capacity,
      remaining: index === 1 ? 0 : 3,
      reset: now + 10_000,
      retryAfterMs: index === 1 ? 4200 : 0,
    }));
    const refused = await server(fixedLimiter({ each, retryAfterMs: 4200 }, policies), { pk: false })();
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(standard(refused)).toEqual({
      policies: [
        { name: "api-1s", params: { q: 10, w: 1 } },
        { name: "api-1d", params: { q: 1000, w: 86_400 } },
        { name: "api-1d-2", params: { q: 900, w: 86_400 } },
        { name: "api-1500ms", params: { q: 5, w: 2 } },
      ],
      // None reaches beyond Retry-After, though the budgets are whole only later.
      limits: ["api-1s", "api-1d", "api-1d-2", "api-1500ms"].map((name, index) => ({
        name,
        params: { r: index === 1 ? 0 : 3, t: 5 },
      })),
    });
    expect((await refused.json())["violated-policies"]).toEqual(["api-1d"]);
  });

  test("say nothing of what nobody knows, where no ledger was asked", async () => {
    const response = await server(fixedLimiter({ success: true, source: "fallback", reason: "unreachable" }))();
    expect(response.headers.has("ratelimit")).toBe(false);
    expect(response.headers.has("ratelimit-policy")).toBe(true);
  });
});

describe("the partition key", () => {
  const pkOf = async (limiter: Limiter, headers: HeaderOptions, key: string | string[]) =>
    (await server(limiter, headers, () => key)()).headers.get("ratelimit")?.match(/;pk=:([^:]*):/)?.[1];

  test("is the keyed hash that the documentation says, the same on every server with the secret", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ unit: "binary", minLength: 1 }), fc.array(fc.string(), { minLength: 1 })),
        async (key) => {
          const [a, b] = [fakeLimiter(tokenBucket({ rate: 5 })).limiter, fakeLimiter(tokenBucket({ rate: 5 })).limiter];
          const expected = createHmac("sha256", "our secret")
            .update(JSON.stringify(["api", key]))
            .digest()
            .subarray(0, 12);
          expect(await pkOf(a, { pk: "our secret" }, key)).toBe(expected.toString("base64"));
          expect(await pkOf(b, { pk: new TextEncoder().encode("our secret") }, key)).toBe(expected.toString("base64"));
          expect(await pkOf(b, { pk: "other" }, key)).not.toBe(expected.toString("base64"));
        },
      ),
    );
  });

  test("without a secret is made with a random one, drawn at the first request and kept", async () => {
    const { limiter, ambient } = fakeLimiter(tokenBucket({ rate: 5 }));
    let drawn = 0;
    const random = ambient.random;
    ambient.random = (bytes) => {
      drawn++;
      random(bytes);
    };
    const call = server(limiter);
    expect(drawn).toBe(0);
    const pk = standard(await call()).limits[0]?.params.pk;
    // The limiter's own key table draws its seed then, too.
    const atFirst = drawn;
    expect(atFirst).toBeGreaterThan(0);
    expect(standard(await call()).limits[0]?.params.pk).toEqual(pk);
    expect(drawn).toBe(atFirst);
    expect(standard(await server(limiter)()).limits[0]?.params.pk).not.toEqual(pk);
  });
});

describe("older headers", () => {
  const refuse = async (styles: HeaderOptions["styles"], policy = fixedWindow({ limit: 1, window: "1m" })) => {
    const { limiter, ambient } = fakeLimiter(policy);
    const call = server(limiter, { styles: styles ?? [] });
    await call();
    await ambient.pass(200);
    return { headers: (await call()).headers, now: ambient.now() };
  };

  test("draft 7 has one dictionary, draft 6 a header for each number", async () => {
    const seven = await refuse("draft-7");
    const left = Number(seven.headers.get("retry-after"));
    expect(left).toBe(Math.ceil((60_000 - (seven.now % 60_000)) / 1000));
    expect(seven.headers.get("ratelimit-policy")).toBe("1;w=60");
    expect(seven.headers.get("ratelimit")).toBe(`limit=1, remaining=0, reset=${left}`);
    const six = await refuse("draft-6");
    expect([...six.headers].filter(([name]) => name.startsWith("ratelimit"))).toEqual([
      ["ratelimit-limit", "1"],
      ["ratelimit-policy", "1;w=60"],
      ["ratelimit-remaining", "0"],
      ["ratelimit-reset", String(left)],
    ]);
  });

  test("X-RateLimit-Reset is in epoch seconds, and not before the retry", async () => {
    const { headers, now } = await refuse(["x-ratelimit", "standard"]);
    expect(headers.get("x-ratelimit-limit")).toBe("1");
    expect(headers.get("x-ratelimit-remaining")).toBe("0");
    const reset = 1000 * Number(headers.get("x-ratelimit-reset"));
    expect(reset).toBeGreaterThanOrEqual(Math.ceil(now / 60_000) * 60_000);
    expect(reset).toBeLessThanOrEqual(now + 1000 * Number(headers.get("retry-after")) + 1000);
    expect(itemsOf(headers.get("ratelimit"))).toHaveLength(1);
  });

  test("two styles that write one header are refused, and so is one that nobody knows", () => {
    const { limiter } = fakeLimiter(tokenBucket({ rate: 1 }));
    const make = (headers: object) => () => rateLimit({ limiter, key: byIp(), headers }, ok);
    expect(make({ styles: ["standard", "draft-7"] })).toThrow(RangeError);
    expect(make({ styles: "draft-8" })).toThrow(/headers\.styles must be standard, draft-7/);
    expect(make({ pk: "" })).toThrow(/headers\.pk/);
    expect(make({ style: "standard" })).toThrow(/no option "style"/);
  });
});

describe("whatever the key and the name", () => {
  test("headers hold printable ASCII and nothing of the key", async () => {
    const { limiter } = fakeLimiter(tokenBucket({ rate: 1_000_000 }));
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", minLength: 9, maxLength: 200 }), async (key) => {
        const response = await server(limiter, { styles: ["standard", "x-ratelimit"] }, () => key)();
        for (const [name, value] of response.headers) {
          expect(value).toMatch(/^[\x20-\x7e]*$/);
          expect(`${name}: ${value}`).not.toContain(key);
        }
      }),
    );
  });

  test("a printable name arrives as it is, and any other is refused before a request comes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({
          unit: fc.oneof(
            fc.constantFrom('"', "\\", ";", ","),
            fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
          ),
          minLength: 1,
        }),
        async (name) => {
          const { limiter } = fakeLimiter(tokenBucket({ rate: 1 }), name);
          if (!/^[\x20-\x7e]+$/.test(name)) return void expect(() => server(limiter)).toThrow(/printable ASCII/);
          const { policies, limits } = standard(await server(limiter)());
          expect([policies[0]?.name, limits[0]?.name]).toEqual([name, name]);
          expect(policies).toHaveLength(1);
        },
      ),
    );
  });
});

describe("of a tenant's endpoints", () => {
  test("tell the endpoint's own policy and the plan, and no name or level of anyone else", async () => {
    const link = embedded();
    const limiter = createLimiter({
      policy: tokenBucket({ rate: 20, per: "1m" }),
      plan: tokenBucket({ rate: 9, per: "1h" }),
      endpoints: { login: tokenBucket({ rate: 5, per: "1d" }) },
      name: "api",
      design: exact(),
      link,
      onUnreachable: "deny",
    });
    let key = ["secret-tenant-a", "login"];
    const handle = rateLimit({ limiter, key: () => key, headers: { pk: "k" } }, () => new Response("ok"));
    const call = () => handle(new Request("http://host/"));
    const told = itemsOf((await call()).headers.get("ratelimit-policy")).map(({ name, params }) => [name, params.q]);
    expect(told).toEqual([
      ["api-1d", 5],
      ["api-1h", 9],
    ]);
    for (let nth = 0; nth < 4; nth++) await call();
    expect(((await (await call()).json()) as Record<string, unknown>)["violated-policies"]).toEqual(["api-1d"]);
    key = ["secret-tenant-a", "other"];
    for (let nth = 0; nth < 4; nth++) await call();
    // The first comes from the ledger, the second is remembered.
    for (const refused of [await call(), await call()]) {
      expect(refused.status).toBe(429);
      const limits = itemsOf(refused.headers.get("ratelimit")).map(({ name, params }) => [name, params.r]);
      expect(limits.at(-1)).toEqual(["api-1h", 0]);
      expect(JSON.stringify([...refused.headers]) + (await refused.text())).not.toMatch(/secret|other/);
    }
    key = ["secret-tenant-b", "login"];
    const fresh = itemsOf((await call()).headers.get("ratelimit")).map(({ name, params }) => [name, params.r]);
    expect(fresh).toEqual([
      ["api-1d", 4],
      ["api-1h", 8],
    ]);
    await limiter.close();
    await link.close();
  });
});
