// Concurrent histories against the real hosts: whatever answers callers saw, in some order of
// their calls a plain counter gives the same.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Miniflare } from "miniflare";
import { afterAll, describe, expect, test } from "vitest";
// @ts-expect-error a script without types
import { bundleWorker } from "../../scripts/bundle-worker.mjs";
import type { Decision, Limiter } from "../../ts/contract.ts";
import { embedded } from "../../ts/hosts/node.ts";
import { createLimiter, exact, type Link, tokenBucket } from "../../ts/index.ts";
import { seeded } from "../support/fake-ambient.ts";
import { type Call, isLinearizable } from "../support/linearizable.ts";

const LIMIT = 12;
const HOLDERS = 4;
const SEEDS = Array.from({ length: 25 }, (_, nth) => nth + 1);

type Ask = (holder: number, kind: Call["kind"], amount: number) => Promise<Decision | null>;

/** Calls from all holders at once, and what came of them. */
async function record(seed: number, ask: Ask, givesBack = true): Promise<Call[]> {
  const random = seeded(seed);
  const history: Call[] = [];
  let event = 0;
  const caller = async (holder: number) => {
    for (let nth = 0; nth < 14; nth++) {
      const draw = givesBack ? random() : 0.8 * random();
      const kind = draw < 0.65 ? "take" : draw < 0.8 ? "peek" : draw < 0.96 ? "refund" : "reset";
      const call: Call = {
        kind,
        amount: 1 + Math.floor(random() * 4),
        start: ++event,
        end: Number.POSITIVE_INFINITY,
        answer: null,
      };
      history.push(call);
      const decision = await ask(holder, kind, call.amount);
      if (!decision || decision.reason === "unreachable") continue;
      call.end = ++event;
      // What is left was known when the refusal was cached, and may have changed since.
      call.answer = { success: decision.success, remaining: decision.source === "cache" ? null : decision.remaining };
    }
  };
  // Two callers for each holder, so that their calls travel together.
  await Promise.all(Array.from({ length: 2 * HOLDERS }, (_, nth) => caller(nth % HOLDERS)));
  return history;
}

function askLimiters(limiters: Limiter[]): Ask {
  return async (holder, kind, amount) => {
    const limiter = limiters[holder] as Limiter;
    const asked = {
      take: () => limiter.limit("key", { cost: amount }),
      peek: () => limiter.peek("key", { cost: amount }),
      refund: () => limiter.refund("key", amount),
      reset: () => limiter.reset("key"),
    };
    return asked[kind]().catch(() => null);
  };
}

const folder = mkdtempSync(join(tmpdir(), "sluice-linear-"));
const node = embedded({ path: join(folder, "ledger.db") });
afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true });
});

let names = 0;
/** Each holder's own limiter, over the host's link or one that does harm on the way. */
function holders(link: Link, deadline: string, denialsMax = 0): Limiter[] {
  const name = `history-${names++}`;
  const policy = tokenBucket({ rate: 1, per: "365d", burst: LIMIT });
  const design = exact({ denialsMax });
  return Array.from({ length: HOLDERS }, () =>
    createLimiter({ policy, name, design, link, onUnreachable: "deny", deadline }),
  );
}

/** A network that loses requests and answers. */
function lossy(link: Link, random: () => number): Link {
  return {
    ...link,
    async ask(address, request) {
      const fate = random();
      if (fate < 0.05) throw new Error("the request is lost");
      if (fate < 0.1) await new Promise(() => {});
      const reply = await link.ask(address, request);
      if (fate < 0.2) throw new Error("the answer is lost");
      if (fate < 0.25) await new Promise(() => {});
      return reply;
    },
  };
}

describe("Node with SQLite", () => {
  test.each(SEEDS)("is linearizable, seed %i", async (seed) => {
    const history = await record(seed, askLimiters(holders(node, "20s")));
    expect(isLinearizable(history, LIMIT)).toBe(true);
  });

  test.each(SEEDS)("is linearizable over a network that loses messages, seed %i", async (seed) => {
    const history = await record(seed, askLimiters(holders(lossy(node, seeded(seed)), "40ms")));
    expect(isLinearizable(history, LIMIT)).toBe(true);
  });

  // What other holders give back a remembered refusal does not see: there is none of it here.
  test.each(SEEDS)("is linearizable with remembered refusals, seed %i", async (seed) => {
    const history = await record(seed, askLimiters(holders(node, "20s", 100)), false);
    expect(isLinearizable(history, LIMIT)).toBe(true);
  });

  const broken: [string, (link: Link, random: () => number) => Link][] = [
    [
      "answers from what it knew before",
      (link, random) => {
        const known = new Map<string, Awaited<ReturnType<Link["ask"]>>>();
        return {
          ...link,
          async ask(address, request) {
            const shape = String(request.ops);
            const old = known.get(shape);
            if (old && random() < 0.3) return old;
            const reply = await link.ask(address, request);
            known.set(shape, reply);
            return reply;
          },
        };
      },
    ],
    [
      "charges a retry again",
      (link, random) => ({
        ...link,
        async ask(address, request) {
          const reply = await link.ask(address, request);
          if (random() < 0.2) await link.ask(address, { ...request, holder: `${request.holder}-again` });
          return reply;
        },
      }),
    ],
  ];
  test.each(broken)("is caught when it %s", async (_, break_) => {
    let caught = 0;
    for (const seed of SEEDS) {
      const history = await record(seed, askLimiters(holders(break_(node, seeded(seed)), "20s")));
      if (!isLinearizable(history, LIMIT)) caught++;
    }
    expect(caught).toBeGreaterThan(SEEDS.length / 2);
  });
});

describe("a Durable Object in workerd", async () => {
  const mf = new Miniflare({
    modules: await bundleWorker("test/linear/worker.ts"),
    compatibilityDate: "2026-04-01",
    durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
  });
  afterAll(() => mf.dispose());

  const ask = (history: string, denialsMax: number): Ask => {
    return async (holder, kind, amount) => {
      const query = new URLSearchParams({ history, kind });
      for (const [name, value] of Object.entries({ holder, amount, denialsMax, limit: LIMIT }))
        query.set(name, String(value));
      return (await (await fetch(`${await mf.ready}?${query}`)).json()) as Decision;
    };
  };

  test.each(SEEDS)("is linearizable, seed %i", async (seed) => {
    expect(isLinearizable(await record(seed, ask(`plain-${seed}`, 0)), LIMIT)).toBe(true);
  });

  test.each(SEEDS)("is linearizable with remembered refusals, seed %i", async (seed) => {
    expect(isLinearizable(await record(seed, ask(`cached-${seed}`, 100), false), LIMIT)).toBe(true);
  });
});
