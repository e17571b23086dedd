import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Decision, Policy } from "../ts/contract.ts";
import { limiterFor } from "../ts/create-limiter.ts";
import { createLimiter, exact, fixedWindow, LimiterError, slidingWindow, tokenBucket } from "../ts/index.ts";
import { FakeAmbient } from "./support/fake-ambient.ts";
import { memoryLink } from "./support/memory-link.ts";

function setUp(policy: Policy) {
  const ambient = new FakeAmbient(1_700_000_000_000);
  return { ambient, limiter: limiterFor(ambient)({ policy }) };
}

/** Ten at once, then one each 100 ms. */
const bucket = () => tokenBucket({ rate: 10, burst: 10 });
/** The answer, once there is one. */
function watch(answer: Promise<Decision>) {
  const seen: { decision?: Decision; error?: unknown } = {};
  answer.then(
    (decision) => {
      seen.decision = decision;
    },
    (error) => {
      seen.error = error;
    },
  );
  return seen;
}

describe("wait", () => {
  test("answers at once while there are tokens, and then at the very ms when there is one", async () => {
    const { limiter, ambient } = setUp(bucket());
    for (let sent = 0; sent < 10; sent++) expect((await limiter.wait("k")).success).toBe(true);
    const eleventh = watch(limiter.wait("k"));
    await ambient.pass(99);
    expect(eleventh.decision).toBeUndefined();
    await ambient.pass(1);
    expect(eleventh.decision?.success).toBe(true);
    expect(ambient.waiting).toBe(0);
  });

  test("is first come, first served, as fast as the policy allows, with one timer for a whole queue", async () => {
    const policies = fc.constantFrom(
      bucket(),
      fixedWindow({ limit: 8, window: 500 }),
      slidingWindow({ limit: 8, window: 500 }),
    );
    await fc.assert(
      fc.asyncProperty(
        policies,
        fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 40 }),
        async (policy, costs) => {
          const { limiter, ambient } = setUp(policy);
          // What asking one after the other, and sleeping as told, comes to.
          const alone = setUp(policy);
          const times: number[] = [];
          for (const cost of costs) {
            let decision = await alone.limiter.limit("k", { cost });
            while (!decision.success) {
              await alone.ambient.pass(decision.retryAfterMs as number);
              decision = await alone.limiter.limit("k", { cost });
            }
            times.push(alone.ambient.now());
          }
          const served: { nth: number; at: number }[] = [];
          for (const [nth, cost] of costs.entries()) {
            limiter.wait("k", { cost }).then(() => served.push({ nth, at: ambient.now() }));
          }
          await ambient.pass(1);
          expect(ambient.waiting).toBeLessThanOrEqual(1);
          await ambient.pass((times.at(-1) as number) - ambient.now());
          expect(served).toEqual(times.map((at, nth) => ({ nth, at })));
          expect(ambient.waiting).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("keys do not wait for each other", async () => {
    const { limiter, ambient } = setUp(fixedWindow({ limit: 1, window: "1h" }));
    await limiter.limit("a");
    const a = watch(limiter.wait("a"));
    expect((await limiter.wait("b")).success).toBe(true);
    expect(a.decision).toBeUndefined();
    await ambient.pass(3_600_000);
    expect(a.decision?.success).toBe(true);
  });

  test("refuses at once what can't be admitted within maxWait, or ever", async () => {
    const { limiter, ambient } = setUp(bucket());
    await limiter.limit("k", { cost: 10 });
    expect(await limiter.wait("k", { maxWait: 99 })).toMatchObject({ success: false, retryAfterMs: 100 });
    expect(await limiter.wait("k", { cost: 11 })).toMatchObject({ success: false, reason: "cost_exceeds_capacity" });
    expect(await limiter.wait("k", { maxWait: 0 })).toMatchObject({ success: false });
    expect(ambient.waiting).toBe(0);
    const just = watch(limiter.wait("k", { maxWait: 100 }));
    await ambient.pass(100);
    expect(just.decision?.success).toBe(true);
  });

  test("whoever stands behind is refused when the wait is over, and the queue goes on without", async () => {
    const { limiter, ambient } = setUp(bucket());
    await limiter.limit("k", { cost: 10 });
    const [first, second, third] = [
      watch(limiter.wait("k", { cost: 8 })),
      watch(limiter.wait("k", { maxWait: 300 })),
      watch(limiter.wait("k")),
    ];
    await ambient.pass(299);
    expect(second.decision).toBeUndefined();
    await ambient.pass(1);
    expect(second.decision).toMatchObject({ success: false, retryAfterMs: 500 });
    await ambient.pass(499);
    expect(first.decision).toBeUndefined();
    await ambient.pass(1);
    expect(first.decision?.success).toBe(true);
    await ambient.pass(100);
    expect(third.decision?.success).toBe(true);
  });

  // Each answer takes 100 ms, so that whoever stands far behind is never the first in time.
  test("all have an answer soon after their time is over, though nobody was refused", async () => {
    const ambient = new FakeAmbient(1_700_000_000_000);
    const inner = memoryLink();
    const pause = () => new Promise<void>((resolve) => ambient.schedule(50, resolve));
    const link = {
      ...inner,
      ask: async (...args: Parameters<typeof inner.ask>) => {
        await pause();
        const reply = await inner.ask(...args);
        await pause();
        return reply;
      },
    };
    const policy = tokenBucket({ rate: 1, per: "1d", burst: 40 });
    const limiter = limiterFor(ambient)({ policy, design: exact(), link, onUnreachable: "deny" });
    const waits = Array.from({ length: 50 }, () => watch(limiter.wait("k", { maxWait: 350 })));
    for (let ms = 0; ms < 600; ms += 10) {
      await ambient.pass(10);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(waits.map(({ decision }) => decision?.success)).toEqual(waits.map((_, nth) => nth < 40));
  });

  test("a signal ends it, before, in the queue and at its head; the next one is asked for at once", async () => {
    const { limiter, ambient } = setUp(bucket());
    await limiter.limit("k", { cost: 8 });
    const reason = new Error("changed my mind");
    await expect(limiter.wait("k", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const abort = new AbortController();
    const head = watch(limiter.wait("k", { cost: 10, signal: abort.signal }));
    const next = watch(limiter.wait("k", { cost: 2 }));
    await ambient.pass(0);
    expect(next.decision).toBeUndefined();
    abort.abort(reason);
    await ambient.pass(0);
    expect(head.error).toBe(reason);
    expect(next.decision?.success).toBe(true);
    expect(ambient.waiting).toBe(0);
  });

  test("what was taken for someone who left meanwhile is given back", async () => {
    const { limiter, ambient } = setUp(bucket());
    const abort = new AbortController();
    const gone = watch(limiter.wait("k", { cost: 7, signal: abort.signal }));
    abort.abort();
    await ambient.pass(0);
    expect(gone.error).toBeInstanceOf(DOMException);
    expect((await limiter.peek("k")).remaining).toBe(10);
  });

  test("nobody waits on a closed limiter", async () => {
    const { limiter, ambient } = setUp(bucket());
    await limiter.limit("k", { cost: 10 });
    const waiting = watch(limiter.wait("k"));
    await ambient.pass(0);
    await limiter.close();
    await ambient.pass(0);
    expect(waiting.error).toBeInstanceOf(LimiterError);
    expect(waiting.error).toMatchObject({ code: "closed" });
    await expect(limiter.wait("k")).rejects.toMatchObject({ code: "closed" });
    expect(ambient.waiting).toBe(0);
  });

  test("says what is wrong with its options", async () => {
    const { limiter } = setUp(bucket());
    await expect(limiter.wait("")).rejects.toThrow(RangeError);
    await expect(limiter.wait("k", { cost: 0 })).rejects.toThrow(/cost must be/);
    await expect(limiter.wait("k", { maxWait: "soon" })).rejects.toThrow(/maxWait must be/);
    await expect(limiter.wait("k", { timeout: 1 } as object)).rejects.toThrow(/no option "timeout"/);
  });

  test("works on the platform's own clock and at a ledger", async () => {
    const limiter = createLimiter({
      policy: tokenBucket({ rate: 1, per: 20, burst: 2 }),
      design: exact(),
      link: memoryLink(),
      onUnreachable: "deny",
    });
    const served: number[] = [];
    await Promise.all(Array.from({ length: 10 }, (_, nth) => limiter.wait("k").then(() => served.push(nth))));
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const hold = await limiter.reserve("other", 2);
    expect(await hold.commit(1)).toBe(1);
    expect((await limiter.peek("other")).remaining).toBeGreaterThanOrEqual(1);
    await limiter.close();
  });
});
