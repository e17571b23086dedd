// The packed package in a Worker as Cloudflare's own tool bundles it, with its rules for *.wasm and
// "cloudflare:workers", run in the real runtime.
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { expect, test } from "vitest";
import { bin, installPacked } from "./project.ts";

const examples = fileURLToPath(new URL("../../examples/worker", import.meta.url));
const { folder, run } = await installPacked();
cpSync(examples, join(folder, "worker"), { recursive: true });

test("examples/worker, bundled by wrangler, limits in workerd", async () => {
  const out = join(folder, "out");
  await run(bin("wrangler"), ["deploy", "--dry-run", "--outdir", out, "--config", "worker/wrangler.toml"]);
  const contentsOf = (name: string) => readFileSync(join(out, name));
  const cores = readdirSync(out).filter((name) => name.endsWith(".wasm"));
  expect(cores.length).toBe(1);
  const worker = new Miniflare({
    workers: [
      {
        name: "limited",
        modules: [
          { type: "ESModule", path: "index.js", contents: contentsOf("index.js").toString() },
          ...cores.map((path) => ({ type: "CompiledWasm" as const, path, contents: contentsOf(path) })),
        ],
        compatibilityDate: "2026-04-01",
        bindings: { POLICY: "tokenBucket:rate=1,per=1d,burst=3" },
        durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
        serviceBindings: { ORIGIN: () => new Response("hello") as never },
      },
    ],
  });
  try {
    const from = async (ip: string) => {
      const answer = await worker.dispatchFetch("http://h/", { headers: { "cf-connecting-ip": ip } });
      await answer.text();
      return answer.status;
    };
    const seen: number[] = [];
    for (let call = 0; call < 5; call++) seen.push(await from("192.0.2.1"));
    expect(seen).toEqual([200, 200, 200, 429, 429]);
    expect(await from("192.0.2.2")).toBe(200);
  } finally {
    await worker.dispose();
  }
});
