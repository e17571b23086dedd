import { env } from "cloudflare:test";
import { expect, test } from "vitest";
import { durableObject } from "../../ts/hosts/durable-object.ts";
import { createLimiter, exact, lease, sharded, tokenBucket } from "../../ts/index.ts";

const link = durableObject(env.LEDGER, { middle: env.MIDDLE });
const policy = tokenBucket({ rate: 1, per: "1d", burst: 200 });
const deny = { onUnreachable: "deny", deadline: "20s" } as const;

/** How many of `calls` that come together are admitted. */
async function admitted(limiter: ReturnType<typeof createLimiter>, calls: number): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: calls }, () => limiter.limit("key")));
  return decisions.filter(({ success }) => success).length;
}

test("isolates in regions admit what the limit holds, and not one more", async () => {
  const isolates = Array.from({ length: 9 }, (_, nth) =>
    createLimiter({ policy, name: "regions", design: lease(), link: link.at(`region ${nth % 3}`), ...deny }),
  );
  let sum = 0;
  for (let round = 0; round < 8; round++) {
    for (const count of await Promise.all(isolates.map((isolate) => admitted(isolate, 5)))) sum += count;
  }
  expect(sum).toBeLessThanOrEqual(200);
  expect(sum).toBeGreaterThan(100);
  await Promise.all(isolates.map((isolate) => isolate.close()));
});

for (const options of [
  { shards: 4 },
  { shards: 4, route: "spread" },
  { shards: 4, split: "static" },
  { shards: "auto", splitAt: 1 },
] as const) {
  test(`a key over several objects holds its limit: ${JSON.stringify(options)}`, async () => {
    const name = `sharded ${JSON.stringify(options)}`;
    const limiters = [1, 2, 3].map(() => createLimiter({ policy, name, design: sharded(options), link, ...deny }));
    let sum = 0;
    for (let round = 0; round < 10; round++) {
      for (const count of await Promise.all(limiters.map((limiter) => admitted(limiter, 10)))) sum += count;
    }
    expect(sum).toBeLessThanOrEqual(200);
    expect(sum).toBeGreaterThan(100);
  });
}

test("a region decides by itself what it holds", async () => {
  const limiter = createLimiter({ policy, name: "one region", design: exact(), link: link.at("here"), ...deny });
  expect(await admitted(limiter, 20)).toBe(20);
  expect(await limiter.limit("key")).toMatchObject({ success: true, source: "ledger" });
  expect(await limiter.limit("key", { cost: 201 })).toMatchObject({ reason: "cost_exceeds_capacity" });
});

test("durableObject says what middle must be", () => {
  expect(() => durableObject(env.LEDGER, { middle: {} as never })).toThrow(
    "middle must be the binding of MiddleObject",
  );
});
