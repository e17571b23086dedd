// What the hosts of the crash test serve: a tenant whose plan is less than its endpoints' budgets
// together. None of it comes back within a test.
import type { Limiter } from "../../ts/contract.ts";

export const PLAN = 1200;
export const OWN = 500;
export const ENDPOINTS = ["a", "b", "c", "d"];
export const TENANT = "acme";

/** Answers `/take?endpoint=a` and `/left?endpoint=a` with a decision. */
export function serve(limiter: () => Limiter): (url: string) => Promise<Response> {
  let made: Limiter | undefined;
  return async (url) => {
    made ??= limiter();
    const { pathname, searchParams } = new URL(url);
    const key = [TENANT, searchParams.get("endpoint") as string];
    return Response.json(await (pathname === "/left" ? made.peek(key) : made.limit(key)));
  };
}
