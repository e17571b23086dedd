// No tenant's key may name what is another's: neither by separators, nor by lengths, nor by what
// becomes of strange Unicode on its way.
import { describe, expect, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { createLimiter, exact, tokenBucket } from "../../ts/index.ts";
import { childAddress } from "../../ts/link/address.ts";
import { plansOf } from "../../ts/link/terms.ts";
import { seeded } from "../support/fake-ambient.ts";
import { moduleWith } from "../support/mutant.ts";
import { recorded, tenantLimiter } from "./conformance.ts";

const policy = tokenBucket({ rate: 1, per: "365d", burst: 1 });
const plan = tokenBucket({ rate: 1, per: "365d", burst: 1000 });

/** What keys are made of by someone who wants them to meet. */
const PIECES = [
  "a",
  "b",
  "1",
  "2",
  ":",
  "1:a",
  "=",
  "~",
  "/",
  "..",
  '"',
  "\\",
  "\\u0000",
  "\0",
  "\u0001",
  " ",
  "é",
  "e\u0301",
  "\ufffd",
  "\ud800",
  "\udc00",
  "\u{1f4a9}",
  "[",
  ",",
  "'",
  "\n",
  "__proto__",
  "%00",
  "#",
  "\u200b",
];

function pairs(count: number): [string, string][] {
  const random = seeded(7);
  const piece = () => PIECES[Math.floor(random() * PIECES.length)] as string;
  const text = () => Array.from({ length: 1 + Math.floor(random() * 4) }, piece).join("");
  const drawn = new Map<string, [string, string]>();
  while (drawn.size < count) {
    const [first, second] = [text(), text()];
    // Pairs that would meet if they were only joined, as often as others.
    const joined = first + second;
    const cut = 1 + Math.floor(random() * (joined.length - 1));
    for (const pair of [
      [first, second],
      [joined.slice(0, cut), joined.slice(cut)],
    ] as [string, string][]) {
      if (pair[0] !== "" && pair[1] !== "") drawn.set(JSON.stringify(pair), pair);
    }
  }
  return [...drawn.values()].slice(0, count);
}

/** Where each pair's plan and endpoint have their ledgers. */
function places(among: [string, string][]) {
  const terms = plansOf().termsOf({ name: "api", plan, policies: [policy], endpoints: {} });
  return among.map((pair) => {
    const { plan } = terms.ofKey(terms.encode(pair));
    return { pair, plan: plan?.address as string, child: plan?.child as string };
  });
}

describe("10,000 pairs of tenant and endpoint", () => {
  const drawn = pairs(10_000);

  test("have their own ledgers, and the plan of their tenant alone", () => {
    const at = new Map<string, [string, string]>();
    const tenantOf = new Map<string, string>();
    for (const { pair, plan, child } of places(drawn)) {
      const address = childAddress(plan, child);
      expect(at.get(address), JSON.stringify(pair)).toBeUndefined();
      at.set(address, pair);
      expect(tenantOf.get(plan) ?? pair[0]).toBe(pair[0]);
      tenantOf.set(plan, pair[0]);
      // Every host can carry it unchanged.
      expect(address).not.toMatch(/[\0\p{Cs}]/u);
    }
    expect(at.size).toBe(10_000);
    expect(tenantOf.size).toBe(new Set(drawn.map(([tenant]) => tenant)).size);
    for (const address of tenantOf.keys()) expect(at.has(address)).toBe(false);
  });

  test("have budgets of their own", async () => {
    const link = embedded();
    const limiter = tenantLimiter(link, plan, policy);
    const admitted = await Promise.all(drawn.map(async (pair) => (await limiter.limit(pair)).success));
    expect(admitted.filter((success) => !success)).toEqual([]);
    await link.close();
  }, 120_000);

  test("addresses that lose what UTF-8 has not would be found out", async () => {
    const lossy = await moduleWith<typeof import("../../ts/link/address.ts")>("ts/link/address.ts", {
      file: "ts/link/address.ts",
      right: "JSON.stringify(text)",
      wrong: 'text.replace(/\\p{Cs}/gu, "\\ufffd")',
    });
    const found = new Set(places(drawn).map(({ plan, child }) => lossy.childAddress(plan, child)));
    expect(found.size).toBeLessThan(10_000);
  });
});

test("a key must be a pair of non-empty strings", async () => {
  const link = embedded();
  const limiter = tenantLimiter(link, plan, policy);
  const wrong: unknown[] = [
    "acme",
    ["acme"],
    ["acme", "a", "b"],
    ["acme", ""],
    ["", "a"],
    ["acme", 7],
    [["a"], "b"],
    null,
    {},
  ];
  for (const key of wrong) {
    await expect(limiter.limit(key as never)).rejects.toThrow(
      /key must be \[tenant, endpoint\], two non-empty strings.*; got /,
    );
  }
  await expect(limiter.limit("acme")).rejects.toThrow(RangeError);
  expect(await limiter.limit(["acme", "a"])).toMatchObject({ success: true });
  await link.close();
});

test("options say what is wrong with them", () => {
  const link = embedded();
  const make = (options: object) => () =>
    createLimiter({ policy, plan, design: exact(), link, onUnreachable: "deny", ...options });
  expect(make({ plan: [] })).toThrow(/plan must be at least one policy/);
  expect(make({ plan: "gold" })).toThrow(/plan must be made by tokenBucket/);
  expect(make({ endpoints: [policy] })).toThrow(/endpoints must be an object/);
  expect(make({ endpoints: { a: null } })).toThrow(/endpoints\["a"\] must be made by tokenBucket/);
  expect(make({ plan: undefined, endpoints: { a: policy } })).toThrow(/need the option plan/);
  expect(make({ link: { ...link, plans: undefined } })).toThrow(/link must be one with plans/);
  expect(make({ plan: undefined, link: { ...link, plans: plansOf(10, true) } })).toThrow(/need the option plan/);
  expect(() => createLimiter({ policy, plan })).toThrow(/design local\(\) takes no plan/);
  expect(() => embedded({ childrenMax: 0 })).toThrow(/childrenMax must be an integer in 1\.\.100000/);
});

test("ledgers without plans refuse a request with one, rather than leave the plan out", async () => {
  const { link, sent } = recorded(embedded());
  await tenantLimiter(link, plan, policy).limit(["acme", "a"]);
  const [address, request] = sent[0] as (typeof sent)[number];
  const { Keeper } = await import("../../ts/ledger/keeper.ts");
  const { memoryStore } = await import("../../ts/ledger/memory-store.ts");
  const { instantiate } = await import("../../ts/core/instantiate.ts");
  const keeper = new Keeper({
    store: memoryStore(),
    durability: { mode: "strict" },
    now: () => 0,
    soon: queueMicrotask,
    later: () => {},
    instantiate,
  });
  await expect(keeper.ask(address, request)).rejects.toThrow(/these ledgers have no plans/);
});
