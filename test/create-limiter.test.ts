import { describe, expect, test } from "vitest";
import { overLedgers } from "../ts/holders/over-ledgers.ts";
import {
  createLimiter,
  exact,
  fixedWindow,
  LimiterError,
  type LimiterOptions,
  type Link,
  lease,
  local,
  optimistic,
  sharded,
  tokenBucket,
} from "../ts/index.ts";

const policy = tokenBucket({ rate: 10, per: "1m", burst: 20 });
const link: Link = { ...overLedgers, durability: { mode: "strict" }, ask: () => new Promise(() => {}) };
const make = (options: unknown) => () => createLimiter(options as LimiterOptions);
const remote = { policy, design: exact(), link, onUnreachable: "deny" };

describe("createLimiter says what is wrong with", () => {
  const cases: [what: string, options: unknown, message: RegExp][] = [
    ["no options", undefined, /^createLimiter must be an object with policy, name, design, clock, plan, endpoints/],
    [
      "an option it has not",
      { policy, polcy: 1 },
      /^createLimiter has no option "polcy"; allowed: policy, name, design, clock/,
    ],
    ["a missing policy", {}, /^policy must be made by tokenBucket, .*; got undefined$/],
    ["a policy's text", { policy: "tokenBucket:rate=1" }, /^policy must be made by .*; got "tokenBucket:rate=1"$/],
    ["no policy of several", { policy: [] }, /^policy must be at least one policy/],
    ["one bad policy of several", { ...remote, policy: [policy, {}] }, /^policy must be made by .*; got an object$/],
    ["an empty name", { policy, name: "" }, /^name must be a non-empty string; got ""$/],
    [
      "a design that is none",
      { policy, design: "exact" },
      /^design must be made by local\(\) or exact\(\); got "exact"$/,
    ],
    ["a policy for a design", { policy, design: policy }, /^design must be made by .*; got an object$/],
    ["a part of a design", { policy, design: { kind: "local" } }, /^design must be made by/],
    ["a copy of a design", { ...remote, design: JSON.parse(JSON.stringify(exact())) }, /^design must be made by/],
    ["a design not called", { policy, design: exact }, /^design must be made by .*; got a function$/],
    ["a clock without now", { policy, clock: Date.now }, /^clock must be an object with now\(\)/],
    [
      "a missing link",
      { policy, design: exact(), onUnreachable: "deny" },
      /^link must be made by a host, .*exact\(\) needs/,
    ],
    ["a link that can't ask", { ...remote, link: {} }, /^link must be made by a host/],
    ["a link that nobody uses", { policy, link }, /^design local\(\) takes no link$/],
    [
      "a deadline that nobody keeps",
      { policy, design: local(), deadline: "1s" },
      /^design local\(\) takes no deadline$/,
    ],
    [
      "no choice for a lost link",
      { ...remote, onUnreachable: undefined },
      /^onUnreachable must be "deny" .* no default; got undefined$/,
    ],
    ["another choice for a lost link", { ...remote, onUnreachable: "open" }, /^onUnreachable must be "deny"/],
    ["a deadline that is none", { ...remote, deadline: "soon" }, /^deadline must be a duration .*; got "soon"$/],
    ["a carry that is none", { ...remote, carry: "all" }, /^carry must be "share" or "used" or "reset"; got "all"$/],
    ["an onError that is none", { ...remote, onError: "log" }, /^onError must be a function; got "log"$/],
  ];
  for (const [what, options, message] of cases) {
    test(what, () => {
      expect(make(options)).toThrow(RangeError);
      expect(make(options)).toThrow(message);
    });
  }
});

describe("a limiter says what is wrong with", () => {
  const limiter = createLimiter({ policy });

  test("a key", async () => {
    for (const key of ["", [], true, null]) {
      expect(() => limiter.limitSync(key as never)).toThrow(RangeError);
      await expect(limiter.limit(key as never)).rejects.toThrow(/^key must be a non-empty string/);
    }
  });

  test("a cost or a count", async () => {
    for (const bad of [null, 0, -1, 1.5, Number.NaN, 2 ** 53, "1"]) {
      expect(() => limiter.limitSync("a", { cost: bad as number })).toThrow(/^cost must be an integer in 1\.\./);
      await expect(limiter.limit("a", { cost: bad as number })).rejects.toThrow(RangeError);
      await expect(limiter.peek("a", { cost: bad as number })).rejects.toThrow(RangeError);
      await expect(limiter.refund("a", bad as number)).rejects.toThrow(/^count must be an integer in 1\.\./);
    }
    expect(() => limiter.limitSync("a", { costs: 1 } as never)).toThrow(/^limit has no option "costs"; allowed: cost$/);
    expect((await limiter.peek("a")).remaining).toBe(20);
  });

  test("being used when it is closed, or without a promise where one is needed", async () => {
    const closed = createLimiter({ policy, name: "gone" });
    await closed.close();
    await closed.close();
    expect(() => closed.limitSync("a")).toThrow(/^limiter "gone" is closed$/);
    await expect(closed.limit("a")).rejects.toMatchObject({ name: "LimiterError", code: "closed" });
    const far = createLimiter({
      policy: fixedWindow({ limit: 1, window: 1 }),
      design: exact(),
      link,
      onUnreachable: "deny",
    });
    expect(() => (far as never as typeof limiter).limitSync("a")).toThrow(LimiterError);
    await far.close();
  });

  test("a clock that tells no time", () => {
    for (const now of [Number.NaN, -1, "now", 2 ** 60]) {
      const odd = createLimiter({ policy, clock: { now: () => now as number } });
      expect(() => odd.limitSync("a")).toThrow(/^clock\.now\(\) must be a time in epoch ms/);
    }
  });
});

test("a clock that is set back stands still", () => {
  let now = 1000.9;
  const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: 1000 }), clock: { now: () => now } });
  expect(limiter.limitSync("a", { cost: 3 })).toMatchObject({ success: true, remaining: 2, reset: 2000 });
  now = 10;
  expect(limiter.limitSync("a", { cost: 3 })).toMatchObject({
    success: false,
    remaining: 2,
    reset: 2000,
    retryAfterMs: 1000,
  });
  now = 2000;
  expect(limiter.limitSync("a", { cost: 3 })).toMatchObject({ success: true, remaining: 2, reset: 3000 });
});

test("a design is what it was checked to be", () => {
  for (const design of [local(), exact(), lease(), optimistic(), sharded({ shards: 2 })]) {
    expect(Object.isFrozen(design)).toBe(true);
  }
});
