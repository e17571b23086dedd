import fc from "fast-check";
import { parseList } from "structured-headers";
import type { Decision, Limiter, LocalLimiter, Policy } from "../../ts/contract.ts";
import { limiterFor } from "../../ts/create-limiter.ts";
import { fixedWindow, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { FakeAmbient } from "../support/fake-ambient.ts";

/** A limiter whose time passes when it is told to. */
export function fakeLimiter(policy: Policy, name = "api"): { limiter: LocalLimiter; ambient: FakeAmbient } {
  const ambient = new FakeAmbient(1_700_000_000_000, Math.random);
  return { limiter: limiterFor(ambient)({ policy, name }), ambient };
}

/** A limiter that always answers with `decision`. */
export function fixedLimiter(decision: Partial<Decision>, policies: readonly Policy[] = [tokenBucket({ rate: 1 })]) {
  const { limiter, ambient } = fakeLimiter(policies[0] as Policy);
  const limit = async (): Promise<Decision> => ({
    success: false,
    limit: 1,
    remaining: 0,
    reset: ambient.now() + 1000,
    retryAfterMs: 1000,
    reason: "limited",
    policy: "api",
    source: "ledger",
    ...decision,
  });
  return { name: "api", policies, policiesOf: () => policies, ambient: limiter.ambient, limit } as unknown as Limiter;
}

/** Policies of every kind, with windows and refills of 1 ms to some minutes. */
export const anyPolicy: fc.Arbitrary<Policy> = fc.oneof(
  fc
    .record({
      rate: fc.integer({ min: 1, max: 50 }),
      per: fc.integer({ min: 1, max: 120_000 }),
      burst: fc.integer({ min: 1, max: 30 }),
    })
    .map(tokenBucket),
  fc.record({ limit: fc.integer({ min: 1, max: 30 }), window: fc.integer({ min: 1, max: 120_000 }) }).map(fixedWindow),
  fc
    .record({ limit: fc.integer({ min: 1, max: 30 }), window: fc.integer({ min: 1, max: 120_000 }) })
    .map(slidingWindow),
);

/** The items of a structured list: each one's name and parameters, bytes in hex. */
export function itemsOf(value: string | null): { name: unknown; params: Record<string, number | string> }[] {
  const plain = (value: unknown) => (value instanceof ArrayBuffer ? Buffer.from(value).toString("hex") : value);
  return parseList(value ?? "").map(([name, params]) => ({
    name,
    params: Object.fromEntries([...params].map(([key, value]) => [key, plain(value) as number | string])),
  }));
}
