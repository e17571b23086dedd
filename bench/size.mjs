// What the package weighs where it is bundled and gzipped, and what of local() that is. After `npm run build`.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Bytes of a program over the sources, with the core in it. */
async function weigh(program) {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: `${root}ts` },
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    write: false,
    alias: { "sluice:core": `${root}build/core.ts` },
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

const named = (names, from) => `export { ${names} } from "./${from}.ts";`;

async function main() {
  const core = named("instantiate", "core/instantiate");
  const table = core + named("Table", "core/table");
  const policy = table + named("tokenBucket", "policies/token-bucket");
  const opened = policy + named("opensTable", "designs/local");
  const parts = [
    ["the core, as text, and its loader", core],
    ["and the table of keys", table],
    ["and a token bucket", policy],
    ["and several policies at once", opened],
    ["local(): and the limiter", named("createLimiter, local, tokenBucket", "index")],
    ["the root entry", 'export * from "./index.ts";'],
    ["the root entry and remote()", `export * from "./index.ts";${named("remote", "hosts/remote")}`],
  ];
  for (const [what, program] of parts) console.log(`${String(await weigh(program)).padStart(6)}  ${what}`);
}

await main();
