import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fixedWindow, parsePolicy, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { toMs } from "../../ts/policies/duration.ts";
import { policyOf } from "../../ts/policies/spec.ts";
import { anyPolicy } from "../support/traffic.ts";

const notPositiveIntegers = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "5", null, {}];

/** Makes a policy of options that no type would allow. */
type Make = (options: unknown) => unknown;
const bucket = tokenBucket as Make;
const fixed = fixedWindow as Make;
const sliding = slidingWindow as Make;

describe("options", () => {
  test("that must be positive integers are named with their value and what is allowed", () => {
    for (const bad of notPositiveIntegers) {
      for (const [make, options, name] of [
        [bucket, { rate: bad }, "rate"],
        [bucket, { rate: 1, burst: bad }, "burst"],
        [fixed, { limit: bad, window: 1 }, "limit"],
        [sliding, { limit: bad, window: 1 }, "limit"],
      ] as [Make, object, string][]) {
        // Null is a value of its own: not the default.
        if (bad === null && name === "burst") continue;
        expect(() => make(options), `${name} = ${bad}`).toThrow(RangeError);
        expect(() => make(options)).toThrow(new RegExp(`^${name} must be an integer in 1\\.\\.\\d+; got `));
      }
    }
  });

  test("that are missing, unknown or no object are named", () => {
    expect(() => bucket({})).toThrow(/^rate must be .*; got undefined$/);
    expect(() => fixed({ limit: 1 })).toThrow(/^window must be a duration .*; got undefined$/);
    expect(() => sliding({ window: 1 })).toThrow(/^limit must be .*; got undefined$/);
    expect(() => bucket({ rate: 1, limit: 2 })).toThrow(
      /^tokenBucket has no option "limit"; allowed: rate, per, burst$/,
    );
    expect(() => sliding({ limit: 1, window: 1, per: 1 })).toThrow(/^slidingWindow has no option "per"/);
    for (const bad of [undefined, null, 5, "rate=1", [1]]) expect(() => bucket(bad)).toThrow(RangeError);
  });

  test("take their defaults", () => {
    expect(tokenBucket({ rate: 7 }).spec).toEqual({ kind: "tokenBucket", rate: 7, per: 1000, burst: 7 });
    expect(slidingWindow({ limit: 128, window: "1d" }).spec).toMatchObject({ resolution: 1 });
    // The finest that needs no more than 128 runs.
    const { spec, stateCells } = slidingWindow({ limit: 129, window: "1m" });
    expect(spec).toMatchObject({ resolution: 473 });
    expect(stateCells).toBe(3 + 2 * 128);
    expect(slidingWindow({ limit: 1e6, window: 100 }).spec).toMatchObject({ resolution: 1 });
  });

  test("stay where the arithmetic is exact, to the last token", () => {
    expect(tokenBucket({ rate: 2 ** 21, per: 1, burst: 1 }).capacity).toBe(1);
    expect(() => tokenBucket({ rate: 2 ** 21 + 1, per: 1, burst: 1 })).toThrow(
      /^rate must be at most 2097152 per 1 ms/,
    );
    expect(tokenBucket({ rate: 1, per: 1000, burst: 2_251_799_813_685 }).capacity).toBe(2_251_799_813_685);
    expect(() => tokenBucket({ rate: 1, per: 1000, burst: 2_251_799_813_686 })).toThrow(
      /^burst must be at most 2251799813685 at a rate of 1 per 1000 ms; got 2251799813686$/,
    );
    expect(fixedWindow({ limit: 2 ** 51, window: 1 }).capacity).toBe(2 ** 51);
    expect(() => fixedWindow({ limit: 2 ** 51 + 1, window: 1 })).toThrow(RangeError);
    expect(slidingWindow({ limit: 65_536, window: "10m", resolution: 1 }).stateCells).toBe(3 + 2 * 65_536);
    expect(() => slidingWindow({ limit: 65_537, window: "10m", resolution: 1 })).toThrow(
      /^resolution must be at least 10 ms for a limit of 65537 in 600000 ms; got 1$/,
    );
    expect(slidingWindow({ limit: 65_537, window: "10m", resolution: 10 }).capacity).toBe(65_537);
    expect(() => slidingWindow({ limit: 5, window: 10, resolution: 11 })).toThrow(
      /^resolution must be a duration of 1 ms to 10 ms in whole ms/,
    );
  });

  test("say whether the policy is exact", () => {
    expect(tokenBucket({ rate: 10, per: "1m" }).exact).toBe(true);
    expect(tokenBucket({ rate: 2_097_169, per: "1d" }).exact).toBe(false);
    expect(slidingWindow({ limit: 5, window: 10 }).exact).toBe(true);
    expect(slidingWindow({ limit: 5, window: 10, resolution: 2 }).exact).toBe(false);
  });
});

describe("durations", () => {
  test("are ms, or text with a unit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 36_600 }),
        fc.constantFrom(["ms", 1], ["s", 1000], ["m", 60_000], ["h", 3_600_000], ["d", 86_400_000] as const),
        (count, [unit, ms]) => {
          expect(toMs("x", `${count}${unit}`)).toBe(count * (ms as number));
          expect(toMs("x", ` ${count} ${unit} `)).toBe(count * (ms as number));
          expect(toMs("x", count)).toBe(count);
        },
      ),
    );
    expect(["1.1s", "0.001s", "2.5m", "0.5d"].map((text) => toMs("x", text))).toEqual([1100, 1, 150_000, 43_200_000]);
    expect(toMs("x", "0s", 0)).toBe(0);
  });

  test("of anything else are refused by name", () => {
    const bad = [
      "",
      "5",
      "s",
      "5 minutes",
      "-1s",
      "1e3s",
      "0.5ms",
      "0s",
      "36601d",
      0,
      -1,
      0.5,
      Number.NaN,
      null,
      [],
      5n,
    ];
    for (const value of bad) {
      expect(() => toMs("window", value), String(value)).toThrow(/^window must be a duration of 1 ms to 100 years/);
    }
  });
});

describe("policies as text", () => {
  test("are those that were written", () => {
    fc.assert(
      fc.property(anyPolicy, (policy) => {
        const { kind, ...options } = policy.spec;
        const list = Object.entries(options).map(([name, value]) => {
          return `${name}=${name === "per" || name === "window" || name === "resolution" ? `${value}ms` : value}`;
        });
        expect(parsePolicy(`${kind}:${list.join(",")}`)).toEqual(policy);
        expect(policyOf(JSON.parse(JSON.stringify(policy.spec)))).toEqual(policy);
      }),
    );
    expect(parsePolicy(" tokenBucket : rate = 10 , per = 1m , burst = 20 ").spec).toEqual(
      tokenBucket({ rate: 10, per: "1m", burst: 20 }).spec,
    );
  });

  test("that say no policy are refused with what is wrong", () => {
    for (const [text, message] of [
      ["", /^policy kind must be tokenBucket, fixedWindow or slidingWindow; got ""$/],
      ["leakyBucket:rate=1", /^policy kind must be .*; got "leakyBucket"$/],
      ["toString:rate=1", /^policy kind must be/],
      ["tokenBucket", /^rate must be/],
      ["tokenBucket:rate", /^policy must be like "tokenBucket:rate=10,per=1m,burst=20"; got "tokenBucket:rate"$/],
      ["tokenBucket:rate=", /^policy must be like/],
      ["tokenBucket:=5", /^policy must be like/],
      ["tokenBucket:rate=1=2", /^policy must be like/],
      ["tokenBucket:rate=1,rate=2", /^policy names "rate" twice/],
      ["tokenBucket:rate=1e3", /^rate must be an integer in .*; got "1e3"$/],
      ["tokenBucket:rate=-1", /^rate must be an integer/],
      ["tokenBucket:rate=1,kind=fixedWindow", /^policy names "kind" twice/],
      ["tokenBucket:rate=1,__proto__=5", /^tokenBucket has no option "__proto__"/],
      ["tokenBucket:rate=1,toString=5", /^tokenBucket has no option "toString"/],
      ["fixedWindow:limit=5,window=soon", /^window must be a duration/],
    ] as const) {
      expect(() => parsePolicy(text), text).toThrow(RangeError);
      expect(() => parsePolicy(text), text).toThrow(message);
    }
    expect(() => parsePolicy(5 as never)).toThrow(RangeError);
    for (const spec of [null, undefined, 5, "tokenBucket", []]) {
      expect(() => policyOf(spec as never)).toThrow(/^policy kind must be .*; got undefined$/);
    }
  });
});
