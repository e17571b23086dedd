// What a served ledger must do in every runtime that can serve one, and be for its callers.
import { afterAll, describe, expect, test } from "vitest";
import type { EmbeddedOptions } from "../../ts/hosts/embedded.ts";
import { remote } from "../../ts/hosts/remote.ts";
import type { LedgerServer, ServeOptions } from "../../ts/hosts/serve.ts";
import { type OpenLink, tokenBucket } from "../../ts/index.ts";
import { ledgerConformance } from "../ledger/conformance.ts";

const token = "a-token-for-the-tests";
const { spec } = tokenBucket({ rate: 1, per: "1d", burst: 10 });
const ask = (address: string) => ({ address, request: { v: 1, holder: "h", seq: 1, policies: [spec], ops: [0, 1] } });

export function servedSuite(
  runtime: string,
  serveLedger: (options: ServeOptions) => Promise<LedgerServer>,
  embedded: (options?: EmbeddedOptions) => OpenLink,
): void {
  const ledgers = embedded();
  let served: Promise<{ server: LedgerServer; url: string; link: OpenLink }> | undefined;
  const serve = () => {
    served ??= serveLedger({ link: ledgers, token }).then((server) => {
      const url = `http://127.0.0.1:${server.port}/`;
      return { server, url, link: remote(url, { token, timeout: "20s" }) };
    });
    return served;
  };
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const { url } = await serve();
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
  afterAll(async () => {
    const { server, link } = await serve();
    await link.close();
    await server.close();
    await ledgers.close();
  });

  ledgerConformance(`${runtime}'s serveLedger and remote()`, async () => (await serve()).link);

  describe(`${runtime}'s served ledger`, () => {
    test("turns away who doesn't show the token, and decides nothing", async () => {
      const wrong = ["Bearer", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`, token];
      for (const authorization of wrong) {
        expect(await post({ v: 1, asks: [ask("guarded")] }, { authorization })).toMatchObject({ status: 401 });
      }
      const { body } = await post({ v: 1, asks: [ask("guarded")] });
      expect(body.replies[0].outcomes.slice(0, 2)).toEqual([1, 9]);
      const { url } = await serve();
      const stranger = remote(url, { token: "some-other-token" });
      await expect(stranger.ask("guarded", ask("guarded").request as never)).rejects.toThrow(/401/);
    });

    test("refuses what is too large, no JSON, or of another version", async () => {
      expect(await post(`{"v":1,"asks":[],"pad":"${"x".repeat(2 ** 20)}"}`)).toMatchObject({ status: 413 });
      expect(await post("{")).toMatchObject({ status: 400 });
      expect(await post("null")).toMatchObject({ status: 400 });
      expect(await post({ v: 2, asks: [] })).toMatchObject({ status: 400 });
      expect(await post({ v: 1 })).toMatchObject({ status: 400 });
      expect(await post({ v: 1, asks: Array(257).fill(ask("a")) })).toMatchObject({ status: 400 });
      expect(await post({ v: 1, asks: [] }, { "content-type": "text/plain" })).toMatchObject({ status: 415 });
      const { url } = await serve();
      const got = await fetch(url);
      expect(got.status).toBe(405);
      await got.text();
    });

    test("one bad ask spoils no other, and unknown fields are no harm", async () => {
      const good = ask("mixed");
      const extra = { address: "mixed-2", hue: 1, request: { ...good.request, mood: "fine" } };
      const bad = [
        null,
        7,
        {},
        { address: "", request: good.request },
        { address: "x".repeat(4097), request: good.request },
        { address: "a" },
        { address: "a", request: { ...good.request, holder: "" } },
        { address: "a", request: { ...good.request, seq: 1.5 } },
        { address: "a", request: { ...good.request, policies: [null] } },
        { address: "a", request: { ...good.request, policies: Array(17).fill(spec) } },
        { address: "a", request: { ...good.request, ops: "0,1" } },
        { address: "a", request: { ...good.request, ops: Array(8194).fill(1) } },
        { address: "a", request: { ...good.request, durability: { mode: "reserve", chunk: 0 } } },
      ];
      const { status, body } = await post({ v: 1, page: 3, asks: [good, ...bad, extra] });
      expect(status).toBe(200);
      expect(body.replies.length).toBe(bad.length + 2);
      expect(body.replies[0].outcomes[1]).toBe(9);
      expect(body.replies.at(-1).outcomes[1]).toBe(9);
      for (const reply of body.replies.slice(1, -1)) expect(reply).toMatchObject({ error: { code: "request" } });
    });

    test("says what is wrong with its options", async () => {
      const open = (options: object) => serveLedger({ link: ledgers, ...options } as ServeOptions);
      await expect(open({ host: "0.0.0.0" })).rejects.toThrow(/token must be given, since others can reach 0\.0\.0\.0/);
      await expect(open({ host: "::" })).rejects.toThrow(/token must be given/);
      await expect(open({ token: "short" })).rejects.toThrow(/token must be 16/);
      await expect(open({ port: 70_000 })).rejects.toThrow(/port must be an integer in 0/);
      await expect(open({ path: "/x" })).rejects.toThrow(/serveLedger has no option "path"/);
      await expect(serveLedger({ token } as never)).rejects.toThrow(/link must be made by a host/);
    });

    test("stops when it is closed", async () => {
      const server = await serveLedger({ link: ledgers });
      const link = remote(`http://127.0.0.1:${server.port}`);
      const request = ask("closing").request as never;
      expect((await link.ask("closing", request)).outcomes[1]).toBe(9);
      await server.close();
      await expect(link.ask("closing", request)).rejects.toThrow(/no ledger at http/);
    });
  });
}
