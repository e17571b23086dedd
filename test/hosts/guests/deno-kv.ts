import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { denoKv } from "../../../ts/hosts/deno.ts";
import { createLimiter, exact, type Link, tokenBucket } from "../../../ts/index.ts";
import { ledgerConformance } from "../../ledger/conformance.ts";

interface OpenKv {
  openKv(path: string): Promise<Parameters<typeof denoKv>[0] & { close(): void }>;
}

const { Deno } = globalThis as unknown as { Deno: OpenKv };
const path = join(process.env.GUEST_FOLDER as string, "kv.db");
let kv = await Deno.openKv(path);
afterAll(() => kv.close());

ledgerConformance(
  "Deno KV",
  async () => denoKv(kv),
  async () => {
    kv.close();
    kv = await Deno.openKv(path);
    return denoKv(kv);
  },
);

describe("Deno KV", () => {
  const policy = tokenBucket({ rate: 1, per: "1d", burst: 40 });
  const limiterOn = (link: Link) =>
    createLimiter({ policy, name: "isolates", design: exact(), link, onUnreachable: "deny", deadline: "30s" });

  test("admits exactly the limit to links that know nothing of each other", async () => {
    // A queue of its own each, as isolates have, and so real conflicts at the store.
    const limiters = Array.from({ length: 6 }, () => limiterOn(denoKv(kv)));
    let admitted = 0;
    await Promise.all(
      limiters.map(async (limiter) => {
        for (let call = 0; call < 15; call++) if ((await limiter.limit("hot")).success) admitted++;
      }),
    );
    expect(admitted).toBe(40);
  });

  test("keeps long keys apart", async () => {
    const limiter = limiterOn(denoKv(kv));
    const long = "k".repeat(3000);
    expect(await limiter.limit(`${long}a`, { cost: 40 })).toMatchObject({ success: true });
    expect(await limiter.limit(`${long}b`, { cost: 40 })).toMatchObject({ success: true });
    expect(await limiter.limit(`${long}a`)).toMatchObject({ success: false });
  });

  test("takes nothing but a KV", () => {
    expect(() => denoKv({} as never)).toThrow(/denoKv's kv must be what Deno\.openKv\(\) gives/);
  });
});
