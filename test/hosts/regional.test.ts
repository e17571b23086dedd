import { afterAll, expect, test } from "vitest";
import type { Link, PlacedLink } from "../../ts/designs/link.ts";
import { embedded, type LedgerServer, serveLedger } from "../../ts/hosts/node.ts";
import { regional, remote } from "../../ts/hosts/remote.ts";
import { createLimiter, exact, lease, sharded, tokenBucket } from "../../ts/index.ts";

const policy = tokenBucket({ rate: 1, per: "1d", burst: 100 });
const deny = { policy, onUnreachable: "deny", deadline: "20s" } as const;
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function served(link: Link): Promise<{ server: LedgerServer; link: Link }> {
  const server = await serveLedger({ link });
  const to = remote(`http://127.0.0.1:${server.port}`, { timeout: "20s" });
  closing.push(async () => {
    await to.close();
    await server.close();
  });
  return { server, link: to };
}

const ledgers = embedded();
closing.push(() => ledgers.close());
const home = served(ledgers);

async function region(): Promise<Link> {
  const middle = regional({ home: (await home).link, deadline: "10s" });
  const { link } = await served(middle);
  closing.push(() => middle.close());
  return link;
}

test("servers of regions admit what the home ledger's limit holds, and ask it now and then", async () => {
  const counted = { posts: 0 };
  const { link } = await home;
  const ask: Link["ask"] = (...args) => {
    counted.posts++;
    return link.ask(...args);
  };
  const counting: Link = { ...link, ask };
  const middle = regional({ home: counting, deadline: "10s" });
  closing.push(() => middle.close());
  const limiters = [await region(), middle].map((to) =>
    createLimiter({ ...deny, name: "r", design: exact(), link: to }),
  );
  const sum = async (calls: number) => {
    const decisions = await Promise.all(
      limiters.flatMap((limiter) => Array.from({ length: calls }, () => limiter.limit("key"))),
    );
    return decisions.filter(({ success }) => success).length;
  };
  expect(await sum(20)).toBe(40);
  expect(await limiters[1]?.limit("key")).toMatchObject({ success: true, source: "ledger" });
  const rest = await sum(60);
  expect(rest).toBeLessThanOrEqual(59);
  expect(rest).toBeGreaterThan(20);
  expect(counted.posts).toBeLessThan(60);
});

test("shards on several servers hold the limit of a hot key", async () => {
  const shards = [await region(), await region()];
  const link: PlacedLink = { ...(await home).link, at: (place) => shards[Number(place.split(" ")[1]) % 2] as Link };
  const limiter = createLimiter({ ...deny, name: "s", design: sharded({ shards: 2, route: "spread" }), link });
  const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.limit("key")));
  const admitted = decisions.filter(({ success }) => success).length;
  expect(admitted).toBeLessThanOrEqual(100);
  expect(admitted).toBeGreaterThan(40);
});

test("regional() says what it takes", async () => {
  expect(() => regional({ home: {} as never })).toThrow("home must be a link");
  expect(() => regional({ home: ledgers, ttl: "10ms" })).toThrow(
    "ttl must be a duration of 500 ms to 300000 ms in whole ms",
  );
  const closed = regional({ home: ledgers });
  await closed.close();
  const limiter = createLimiter({ ...deny, name: "c", design: lease(), link: closed, deadline: "100ms" });
  await expect(limiter.limit("key")).rejects.toThrow("closed");
});

test("a block bounds nothing where a region holds tokens for others too", async () => {
  const design = lease({ block: 2 });
  const policy = tokenBucket({ rate: 10, burst: 100 });
  const middle = regional({ home: ledgers });
  const bounds = (link: Link) =>
    createLimiter({ policy, design, link, onUnreachable: "deny" }).bounds({ pops: 3 }).stranded;
  expect(bounds(ledgers)).toBe(4);
  expect(bounds(middle)).toBe(50);
  await middle.close();
});
