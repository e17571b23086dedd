import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { ledgerHandler, remote } from "../../ts/hosts/remote.ts";
import { createLimiter, exact, lease, tokenBucket } from "../../ts/index.ts";
import type { LedgerRequest } from "../../ts/ledger/messages.ts";

const { spec } = tokenBucket({ rate: 1, per: "1d", burst: 10 });
const request: LedgerRequest = { v: 1, holder: "h", seq: 1, policies: [spec], ops: [0, 1] };

const servers: { close(): void }[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** A server that answers each POST as it is told to. */
async function serverThat(answer: (body: string, nth: number) => Promise<{ status?: number; text: string }>) {
  const seen = { posts: [] as string[], connections: 0 };
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    seen.posts.push(body);
    const { status = 200, text } = await answer(body, seen.posts.length);
    outgoing.writeHead(status, { location: "http://127.0.0.1:1/" }).end(text);
  });
  server.on("connection", () => seen.connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push({
    close() {
      server.close();
      server.closeAllConnections();
    },
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ledger` };
}

/** Each ask's reply is its address, as a number. */
const echo = async (body: string) => ({
  text: JSON.stringify({
    v: 1,
    replies: JSON.parse(body).asks.map(({ address }: { address: string }) => ({ v: 1, outcomes: [Number(address)] })),
  }),
});

describe("remote()", () => {
  test("carries what one tick asks in one POST, in order, and keeps its connection", async () => {
    const { seen, url } = await serverThat(echo);
    const link = remote(url);
    for (let round = 0; round < 50; round++) {
      const replies = await Promise.all(Array.from({ length: 64 }, (_, nth) => link.ask(String(nth), request)));
      expect(replies.map(({ outcomes }) => outcomes[0])).toEqual(Array.from({ length: 64 }, (_, nth) => nth));
    }
    expect(seen.posts.length).toBe(50);
    // A second one where the next POST comes before the last one's end has been read.
    expect(seen.connections).toBeLessThanOrEqual(2);
    expect(JSON.parse(seen.posts[0] as string)).toHaveProperty("asks.0", { address: "0", request });
  });

  test("carries a limiter's calls on many keys in one POST", async () => {
    const { seen, url } = await serverThat(async (body) => {
      const replies = JSON.parse(body).asks.map(() => ({ v: 1, outcomes: [1, 9, 0, 1000] }));
      return { text: JSON.stringify({ v: 1, replies }) };
    });
    const policy = tokenBucket({ rate: 1, per: "1d", burst: 10 });
    const limiter = createLimiter({ policy, design: exact(), link: remote(url), onUnreachable: "deny" });
    const decisions = await Promise.all(Array.from({ length: 64 }, (_, nth) => limiter.limit(`key${nth}`)));
    expect(decisions.every(({ success, source }) => success && source === "ledger")).toBe(true);
    expect(seen.posts.length).toBe(1);
  });

  test("carries leases", async () => {
    const link = embedded();
    const handle = ledgerHandler({ link, token: null });
    let posts = 0;
    const { url } = await serverThat(async (body) => {
      posts++;
      const headers = { "content-type": "application/json" };
      return { text: await (await handle(new Request("http://ledger/", { method: "POST", body, headers }))).text() };
    });
    const policy = tokenBucket({ rate: 1, per: "1d", burst: 1000 });
    const limiter = createLimiter({ policy, design: lease({ block: 50 }), link: remote(url), onUnreachable: "deny" });
    const sources = new Set<string>();
    for (let nth = 0; nth < 200; nth++) sources.add((await limiter.limit("key")).source);
    expect([...sources].sort()).toEqual(["lease", "ledger"]);
    expect(posts).toBeLessThan(50);
    await limiter.close();
    await link.close();
  });

  test("splits what is too much for one POST, and has no more than 8 under way", async () => {
    let open = 0;
    let openMax = 0;
    const { seen, url } = await serverThat(async (body) => {
      openMax = Math.max(openMax, ++open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open--;
      return echo(body);
    });
    const link = remote(url);
    const wide = { ...request, holder: "x".repeat(2000) };
    const asks = Array.from({ length: 5000 }, (_, nth) => link.ask(String(nth), nth % 3 === 0 ? wide : request));
    const replies = await Promise.all(asks);
    expect(replies.map(({ outcomes }) => outcomes[0])).toEqual(asks.map((_, nth) => nth));
    for (const body of seen.posts) {
      expect(JSON.parse(body).asks.length).toBeLessThanOrEqual(256);
      expect(body.length).toBeLessThanOrEqual(2 ** 18 + 5000);
    }
    expect(openMax).toBeLessThanOrEqual(8);
    expect(openMax).toBeGreaterThan(1);
  });

  test("waits no longer than its timeout, and lets go when it is closed", async () => {
    const { url } = await serverThat(() => new Promise(() => {}));
    await expect(remote(url, { timeout: 50 }).ask("1", request)).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("within 50 ms"),
    });
    const link = remote(url);
    const asks = Array.from({ length: 3000 }, (_, nth) => link.ask(String(nth), request));
    const ends = Promise.allSettled(asks);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await link.close();
    for (const end of await ends) expect(end).toMatchObject({ status: "rejected", reason: { code: "closed" } });
    await expect(link.ask("1", request)).rejects.toMatchObject({ code: "closed" });
  });

  test("takes nothing but an answer for an answer", async () => {
    const answers: [number, string, RegExp][] = [
      [500, "oops", /answered 500: oops/],
      [307, "", /answered 307/],
      [200, "<html>", /no ledger at/],
      [200, '{"v":2,"replies":[]}', /version 2/],
      [200, "null", /version undefined/],
      [200, '{"v":1,"replies":[]}', /lacks replies to 1/],
      [200, '{"v":1,"replies":[null]}', /lacks replies/],
      [200, '{"v":1,"replies":[{"v":1,"outcomes":[null]}]}', /lacks replies/],
    ];
    const { url } = await serverThat(async (_, nth) => {
      const [status, text] = answers[nth - 1] as [number, string, RegExp];
      return { status, text };
    });
    const link = remote(url);
    for (const [, , message] of answers) await expect(link.ask("1", request)).rejects.toThrow(message);
  });

  test("says what is wrong with its options, and never shows a token", () => {
    expect(() => remote("ftp://host")).toThrow(/url must be an http: or https: URL/);
    expect(() => remote("http://me:secret@host/")).toThrow(/without a user/);
    expect(() => remote("nonsense")).toThrow(/url must be/);
    expect(() => remote("http://h", { token: "tiny" })).toThrow(/^token must be 16..1024 visible ASCII characters$/);
    expect(() => remote("http://h", { tokens: "x" } as never)).toThrow(/no option "tokens"/);
    expect(() => ledgerHandler({ link: remote("http://h"), token: "tiny" })).toThrow(
      /^token must be 16[^"]*"one of 4"$/,
    );
  });
});

test("whatever is sent, the handler answers with a status and decides nothing that is not asked", async () => {
  const link = { durability: { mode: "strict" as const }, ask: async () => ({ v: 1 as const, outcomes: [] }) };
  const handle = ledgerHandler({ link, token: null });
  const piece = fc.oneof(fc.jsonValue(), fc.record({ address: fc.string(), request: fc.jsonValue() }));
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc.array(piece).map((asks) => JSON.stringify({ v: 1, asks })),
  );
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const headers = { "content-type": "application/json" };
      const response = await handle(new Request("http://h/", { method: "POST", headers, body: text }));
      expect([200, 400]).toContain(response.status);
      const { replies, error } = await response.json();
      if (response.status === 400) expect(typeof error.message).toBe("string");
      else expect(replies.length).toBe(JSON.parse(text).asks.length);
    }),
    { numRuns: 500 },
  );
});
