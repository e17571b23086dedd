import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { violations } from "./support/layers.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = readdirSync(`${root}ts`, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts"));

/** What a bundle of that entry asks its platform for. */
async function externals(entry: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    platform: "neutral",
    external: ["sluice:core", "node:*", "cloudflare:*", "bun:*"],
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return [...new Set(imports.filter(({ external }) => external).map(({ path }) => path))];
}

describe("the table of layers", () => {
  test("is kept by every source file", () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.flatMap((path) => violations(path, readFileSync(`${root}ts/${path}`, "utf8")))).toEqual([]);
  });

  test("the root entry loads no platform module", async () => {
    expect(await externals("ts/index.ts")).toEqual(["sluice:core"]);
    expect((await externals("ts/hosts/durable-object.ts")).sort()).toEqual(["cloudflare:workers", "sluice:core"]);
  });
});

describe("the checker sees", () => {
  const cases: [why: string, path: string, source: string, seen: number][] = [
    ["an import of a higher layer", "ledger/step.ts", 'import { exact } from "../designs/exact.ts";', 1],
    ["one for a type alone", "core/meter.ts", 'import type { Design } from "../designs/design.ts";', 1],
    ["one inside a type", "core/meter.ts", 'let x: import("../designs/design.ts").Design;', 1],
    ["a re-export", "policies/spec.ts", 'export * from "../ledger/step.ts";', 1],
    ["a dynamic import", "designs/exact.ts", 'await import("../hosts/ambient.ts");', 1],
    ["a module named at run time", "designs/exact.ts", "await import(name);", 1],
    ["a sibling", "policies/fixed-window.ts", 'import { tokenBucket } from "./token-bucket.ts";', 1],
    ["a sibling design", "designs/lease.ts", 'import { exact } from "./exact.ts";', 1],
    ["a sibling holder", "holders/exact.ts", 'import { ShardedHolder } from "./sharded.ts";', 1],
    ["a holder from a design", "designs/exact.ts", 'import { ExactHolder } from "../holders/exact.ts";', 1],
    ["a holder from the root entry", "index.ts", 'export { overLedgers } from "./holders/over-ledgers.ts";', 1],
    ["a holder from the root's own platform", "hosts/ambient.ts", 'import "../holders/over-ledgers.ts";', 1],
    ["the way to ledgers from the root", "create-limiter.ts", 'import { Courier } from "./link/courier.ts";', 1],
    ["a sibling host", "hosts/bun.ts", 'import { serveLedger } from "./node-server.ts";', 1],
    ["an import without its extension", "key.ts", 'import { badOption } from "./errors";', 1],
    ["a platform's module", "ledger/keeper.ts", 'import { readFileSync } from "node:fs";', 1],
    ["a package", "designs/exact.ts", 'import { thing } from "somewhere";', 1],
    ["Cloudflare's module outside hosts", "http/hono.ts", 'import { env } from "cloudflare:workers";', 1],
    ["a host from the root entry", "index.ts", 'export { embedded } from "./hosts/node.ts";', 1],
    ["the command from elsewhere", "limiter.ts", 'import { replay } from "./cli/replay.ts";', 1],
    ["a folder without a layer", "utils/misc.ts", "", 1],
    ["the time", "ledger/step.ts", "const now = Date.now(); const day = new Date();", 2],
    ["the time by another way", "designs/local.ts", "const { now } = Date; globalThis.performance.now();", 2],
    ["timers and randomness", "link/courier.ts", "setTimeout(f, 1); setInterval(f, 1); Math.random(); crypto;", 4],
    ["a clock in a command's insides", "cli/replay.ts", "const now = Date.now();", 1],
    ["nothing in what is allowed", "hosts/node.ts", 'import "node:fs"; import "./node-server.ts"; Date.now();', 0],
    [
      "nothing in names alone",
      "limiter.ts",
      "const x = { setTimeout: 1 }; x.setTimeout; new Date(5); Math.max(1, 2);",
      0,
    ],
    ["nothing in a comment or a text", "key.ts", '// import "node:fs"\nconst s = "Date.now()";', 0],
    ["nothing in shared files", "designs/lease.ts", 'import type { Design } from "./design.ts";', 0],
  ];
  for (const [why, path, source, seen] of cases) {
    test(why, () => expect(violations(path, source)).toHaveLength(seen));
  }
});
