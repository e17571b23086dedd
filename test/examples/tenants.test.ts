// Starts examples/tenants in the real Workers runtime, and is limited by it. It takes the built
// package: `npm run build` comes first.
import { Miniflare } from "miniflare";
import { afterAll, expect, test } from "vitest";
// @ts-expect-error a script without types
import { bundleWorker } from "../../scripts/bundle-worker.mjs";

const mf = new Miniflare({
  modules: await bundleWorker("examples/tenants/index.ts"),
  compatibilityDate: "2026-04-01",
  durableObjects: { TENANTS: { className: "TenantObject", useSQLite: true } },
});
afterAll(() => mf.dispose());

test("examples/tenants: endpoints have their limits, a plan caps them, and customers don't meet", async () => {
  const url = await mf.ready;
  const call = async (customer: string, path: string, method = "GET") => {
    const response = await fetch(new URL(path, url), { method, headers: { "x-customer": customer } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const statuses = async (times: number, ...args: Parameters<typeof call>) => {
    const seen: number[] = [];
    for (let nth = 0; nth < times; nth++) seen.push((await call(...args)).status);
    return seen;
  };
  expect(await statuses(3, "acme", "/login", "POST")).toEqual([200, 200, 429]);
  expect(await statuses(9, "acme", "/reports/1")).toEqual([...Array(8).fill(200), 429]);
  // The plan had 12: two are left for whatever else.
  expect(await statuses(3, "acme", "/elsewhere")).toEqual([200, 200, 429]);
  const capped = await call("acme", "/somewhere");
  expect(capped.status).toBe(429);
  expect(Number(capped.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await call("other", "/reports/1")).toMatchObject({ status: 200, text: "hello other\n" });
});
