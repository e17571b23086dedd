import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byHeader, byIp, byUser, compound, type KeySource } from "../../ts/http/keys.ts";
import { FetchSeen, NodeSeen, type Seen } from "../../ts/http/seen.ts";
import type { Trust } from "../../ts/http/trust.ts";

function seen(peer: string | undefined, headers: Record<string, string> = {}, onWorkers = false): Seen {
  return { method: "GET", onWorkers, header: (name) => headers[name] ?? null, peer: () => peer };
}

const keyOf = (source: KeySource, request: Seen) => source.keyOf(request);
const ipKey = (trust: Trust | undefined, peer: string, forwarded?: string) =>
  keyOf(
    byIp(trust === undefined ? {} : { trust }),
    seen(peer, forwarded === undefined ? {} : { "x-forwarded-for": forwarded }),
  );

/** What an attacker can put into a header: addresses, nearly addresses, anything that a header can carry. */
const forged = fc.oneof(
  fc
    .array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("127.0.0.1", "10.0.0.1", "::1", "unknown", "")), {
      maxLength: 6,
    })
    .map((entries) => entries.join(", ")),
  fc.string({ maxLength: 60 }),
);

describe("byIp", () => {
  test("trusts nobody unless told: no header changes the key", () => {
    fc.assert(
      fc.property(fc.ipV4(), forged, forged, (peer, forwarded, cf) => {
        const headers = { "x-forwarded-for": forwarded, "cf-connecting-ip": cf, "x-real-ip": cf, forwarded: cf };
        expect(keyOf(byIp(), seen(peer, headers))).toBe(`ip:${peer}`);
      }),
    );
  });

  test("believes Cloudflare's header in Workers, and nowhere else", () => {
    const headers = { "cf-connecting-ip": "192.0.2.7" };
    expect(keyOf(byIp(), seen(undefined, headers, true))).toBe("ip:192.0.2.7");
    expect(() => keyOf(byIp(), seen(undefined, headers, false))).toThrow(/no address/);
    expect(keyOf(byIp(), seen("203.0.113.1", headers, false))).toBe("ip:203.0.113.1");
  });

  test("knows Workers by what only Cloudflare can give a request", () => {
    const request = (cf: unknown) => {
      const made = new Request("http://localhost/", { headers: { "cf-connecting-ip": "192.0.2.7", cf: "{}" } });
      return new FetchSeen(cf === undefined ? made : Object.assign(made, { cf }), { LEDGER: {} });
    };
    expect(keyOf(byIp(), request({ colo: "FRA" }))).toBe("ip:192.0.2.7");
    for (const cf of [undefined, null, "{}"]) expect(() => keyOf(byIp(), request(cf))).toThrow(/no address/);
  });

  test("behind n trusted proxies nothing that the client sends changes the key", () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 1, max: 4 }), forged, (client, hops, sent) => {
        // Each proxy appends the address that it was called from.
        const proxies = Array.from({ length: hops }, (_, index) => `10.0.0.${index + 1}`);
        const appended = [client, ...proxies.slice(0, -1)];
        const forwarded = [sent, ...appended].join(", ");
        expect(ipKey(hops, proxies.at(-1) as string, forwarded)).toBe(`ip:${client}`);
      }),
    );
  });

  test("behind proxies trusted by address nothing that the client sends changes the key", () => {
    fc.assert(
      fc.property(
        fc.ipV4(),
        fc.array(fc.constantFrom("10.1.2.3", "127.0.0.1", "192.0.2.77", "fd00::5", "[::1]:80"), {
          minLength: 1,
          maxLength: 5,
        }),
        forged,
        (client, proxies, sent) => {
          fc.pre(!/^(10|127)\./.test(client) && client !== "192.0.2.77");
          const [peer, ...others] = proxies;
          const forwarded = [sent, client, ...others].join(", ");
          expect(ipKey(["10.0.0.0/8", "loopback", "192.0.2.77", "fc00::/7"], peer as string, forwarded)).toBe(
            `ip:${client}`,
          );
        },
      ),
    );
  });

  test("a peer that is not trusted is the client, whatever it forwards", () => {
    fc.assert(
      fc.property(forged, (sent) => {
        expect(ipKey(["10.0.0.0/8"], "203.0.113.9", sent)).toBe("ip:203.0.113.9");
        expect(ipKey(0, "203.0.113.9", sent)).toBe("ip:203.0.113.9");
      }),
    );
  });

  test("a trusted proxy that names nobody, or only proxies, leaves the furthest of those", () => {
    expect(ipKey(["private"], "10.0.0.1")).toBe("ip:10.0.0.1");
    expect(ipKey(["private"], "10.0.0.1", " , ,")).toBe("ip:10.0.0.1");
    expect(ipKey(["private"], "10.0.0.1", "10.0.0.2, 10.0.0.3")).toBe("ip:10.0.0.2");
    expect(ipKey(3, "10.0.0.1", "10.0.0.2")).toBe("ip:10.0.0.2");
  });

  test("what a trusted proxy wrote and is no address is no address: an error, and no shared bucket", () => {
    expect(() => ipKey(["private"], "10.0.0.1", "198.51.100.1, unknown")).toThrow(/no address/);
    expect(() => ipKey(1, "10.0.0.1", "_secret")).toThrow(/no address/);
  });

  test("cuts IPv6 to its prefix: a customer's addresses are one key, another's are another", () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 2n ** 61n - 1n),
        fc.bigInt(0n, 2n ** 64n - 1n),
        fc.bigInt(0n, 2n ** 64n - 1n),
        (network, a, b) => {
          const address = (net: bigint, host: bigint) =>
            ((((0b001n << 61n) | net) << 64n) | host)
              .toString(16)
              .padStart(32, "0")
              .match(/.{4}/g)
              ?.join(":") as string;
          const key = keyOf(byIp(), seen(address(network, a)));
          expect(keyOf(byIp(), seen(address(network, b)))).toBe(key);
          expect(keyOf(byIp(), seen(address(network ^ 1n, b)))).not.toBe(key);
        },
      ),
    );
    expect(keyOf(byIp(), seen("2001:db8:1:2:3:4:5:6"))).toBe("ip:2001:db8:1:2::/64");
    expect(keyOf(byIp({ prefix: 48 }), seen("2001:db8:1:2:3:4:5:6"))).toBe("ip:2001:db8:1::/48");
    expect(keyOf(byIp({ prefix: 128 }), seen("2001:db8:1:2:3:4:5:6"))).toBe("ip:2001:db8:1:2:3:4:5:6");
    expect(keyOf(byIp(), seen("::ffff:192.0.2.1"))).toBe("ip:192.0.2.1");
  });

  test("takes a header of the platform's where it is named", () => {
    const source = byIp({ trust: { header: "fly-client-ip" } });
    expect(keyOf(source, seen("10.0.0.1", { "fly-client-ip": "192.0.2.1" }))).toBe("ip:192.0.2.1");
    expect(() => keyOf(source, seen("10.0.0.1", {}))).toThrow(/no address/);
    // Two of them: somebody sent one past the platform.
    expect(() => keyOf(source, seen("10.0.0.1", { "fly-client-ip": "192.0.2.1, 192.0.2.2" }))).toThrow(/no address/);
  });

  test("no address is an error unless another key is named", () => {
    expect(() => keyOf(byIp(), seen(undefined))).toThrow(/byIp found no address/);
    expect(keyOf(byIp({ missing: () => "others" }), seen(undefined))).toBe("others");
    expect(keyOf(byIp({ missing: () => null }), seen(undefined))).toBeNull();
  });

  test("says what is wrong with its options", () => {
    for (const trust of [
      -1,
      1.5,
      65,
      ["10.0.0.0/33"],
      ["10.0.0.1/8"],
      ["localhost"],
      ["010.0.0.0/8"],
      [""],
      { header: "" },
      "10.0.0.0/8",
      {},
    ]) {
      expect(() => byIp({ trust: trust as Trust }), JSON.stringify(trust)).toThrow(RangeError);
    }
    expect(() => byIp({ prefix: 0 })).toThrow(/prefix must be an integer in 1\.\.128/);
    expect(() => byIp({ trusted: true } as object)).toThrow(/no option "trusted"/);
  });

  test("an IPv4-mapped range is a range of IPv4", () => {
    expect(ipKey(["::ffff:10.0.0.0/104"], "10.9.9.9", "192.0.2.1")).toBe("ip:192.0.2.1");
  });
});

describe("byHeader", () => {
  test("is a digest of bounded size that tells values apart and shows none", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 200 }), (value) => {
        const trimmed = value.trim();
        fc.pre(trimmed.length > 8);
        const key = keyOf(byHeader("X-Api-Key"), seen("", { "x-api-key": value })) as string;
        expect(key).toMatch(/^x-api-key:[0-9a-f]{32}$/);
        expect(key).not.toContain(trimmed);
        expect(keyOf(byHeader("x-api-key"), seen("", { "x-api-key": `${value}x` }))).not.toBe(key);
      }),
    );
    expect((keyOf(byHeader("a"), seen("", { a: "x".repeat(1e6) })) as string).length).toBeLessThan(40);
  });

  test("joins headers that came twice, so that a second one gives nobody another's key", () => {
    const twice = new NodeSeen({ headers: { "x-api-key": ["victim", "mine"] } });
    const once = new NodeSeen({ headers: { "x-api-key": "victim" } });
    expect(keyOf(byHeader("x-api-key"), twice)).not.toBe(keyOf(byHeader("x-api-key"), once));
  });

  test("an empty one is missing, and that is an error unless another key is named", () => {
    for (const headers of [{}, { k: "" }, { k: "  " }] as Record<string, string>[]) {
      expect(() => keyOf(byHeader("k"), seen("", headers))).toThrow(/has no header k/);
      expect(keyOf(byHeader("k", { missing: byIp() }), seen("192.0.2.1", headers))).toBe("ip:192.0.2.1");
    }
    expect(() => byHeader("a b")).toThrow(RangeError);
  });
});

describe("byUser and compound", () => {
  test("a user's name is never another kind's key", async () => {
    expect(
      await keyOf(
        byUser(() => "ip:192.0.2.1"),
        seen(""),
      ),
    ).toBe("user:ip:192.0.2.1");
    expect(
      await keyOf(
        byUser(() => 0),
        seen(""),
      ),
    ).toBe("user:0");
    await expect(
      keyOf(
        byUser(() => undefined),
        seen(""),
      ),
    ).rejects.toThrow(/no identity/);
    await expect(
      keyOf(
        byUser(() => ""),
        seen(""),
      ),
    ).rejects.toThrow(/no identity/);
  });

  test("several keys are parts of one, and stay apart", async () => {
    const source = compound(byIp(), () => "GET /search");
    expect(await keyOf(source, seen("192.0.2.1"))).toEqual(["ip:192.0.2.1", "GET /search"]);
    expect(
      await keyOf(
        compound(byIp(), () => null),
        seen("192.0.2.1"),
      ),
    ).toBeNull();
    await expect(
      keyOf(
        compound(byIp(), () => undefined as never),
        seen("192.0.2.1"),
      ),
    ).rejects.toThrow(RangeError);
    expect(() => compound()).toThrow(RangeError);
  });
});
