// core-as/ → build/core.wasm, build/core.ts, build/core.debug.wasm, build/twin.js; ts/ → dist/ with types.
// --quick leaves out what only tests and the published package need.
import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const quick = process.argv.includes("--quick");
const run = promisify(execFile);
const bin = (name) => `${root}node_modules/.bin/${name}`;

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  splitting: true,
  sourcemap: true,
  minify: true,
  outbase: "ts",
  logLevel: "warning",
};

/** Entries that Workers need too, built beside their core, so that an error has one class there. */
const http = { http: "ts/http/fetch.ts", hono: "ts/http/hono.ts", stores: "ts/http/stores.ts" };

/**
 * Bytes as printable text: mostly a character each, so that it gzips as the bytes do. Hex takes
 * a twelfth more, base64 a third. Quotes and backslashes are left out, and "}" and "~" say that
 * 90 or 180 is to be added to what follows. All are moved by 5: this core needs fewest of those so.
 */
function encode(bytes) {
  const digit = (value) => String.fromCharCode(value + 35).replace("\\", "!");
  return Array.from(bytes, (byte) => {
    const value = (byte + 5) % 256;
    return ["", "}", "~"][Math.floor(value / 90)] + digit(value % 90);
  }).join("");
}

const coreModule = (bytes) => `// The core's bytes as text; scripts/build.mjs says how.
const core: Uint8Array | WebAssembly.Module = decode(${JSON.stringify(encode(bytes))});
export default core;

function decode(text: string): Uint8Array {
  const bytes: number[] = [];
  let more = -5;
  for (const character of text) {
    const value = character === "!" ? 57 : character.charCodeAt(0) - 35;
    if (value < 90) bytes.push(value + more);
    more = value < 90 ? -5 : 90 * (value - 89) - 5;
  }
  return new Uint8Array(bytes);
}
`;

/** Everywhere but in Workers the core's bytes are part of the bundle; main() makes the module. */
const inlined = {
  name: "core-inlined",
  setup(build) {
    build.onResolve({ filter: /^sluice:core$/ }, () => ({ path: `${root}build/core.ts` }));
  },
};

/** Workers refuse to compile bytes; there the core is a module of its own. */
const imported = {
  name: "core-imported",
  setup(build) {
    build.onResolve({ filter: /^sluice:core$/ }, () => ({ path: "./core.wasm", external: true }));
  },
};

const asc = (target) => run(bin("asc"), ["--config", "asconfig.json", "--target", target], { cwd: root });
const types = () => run(bin("tsc"), ["-p", "ts/tsconfig.json"], { cwd: root });

async function main() {
  if (!quick) await rm(`${root}dist`, { recursive: true, force: true });
  await mkdir(`${root}dist/workerd`, { recursive: true });
  await Promise.all([asc("release"), ...(quick ? [] : [asc("debug"), types()])]);
  await writeFile(`${root}build/core.ts`, coreModule(await readFile(`${root}build/core.wasm`)));
  await Promise.all([
    build({
      ...shared,
      entryPoints: {
        index: "ts/index.ts",
        node: "ts/hosts/node.ts",
        bun: "ts/hosts/bun.ts",
        deno: "ts/hosts/deno.ts",
        remote: "ts/hosts/remote.ts",
        testing: "ts/sim/index.ts",
        ...http,
        express: "ts/http/express.ts",
        fastify: "ts/http/fastify.ts",
      },
      outdir: "dist",
      external: ["node:*"],
      plugins: [inlined],
    }),
    build({
      ...shared,
      entryPoints: ["ts/cli/main.ts"],
      outfile: "dist/cli.js",
      splitting: false,
      platform: "node",
      plugins: [inlined],
    }),
    build({
      ...shared,
      entryPoints: {
        index: "ts/index.ts",
        "durable-object": "ts/hosts/durable-object.ts",
        remote: "ts/hosts/remote-workerd.ts",
        ...http,
      },
      outdir: "dist/workerd",
      external: ["cloudflare:workers"],
      plugins: [imported],
    }),
    build({ ...shared, entryPoints: ["core-as/policy.ts"], splitting: false, minify: false, outfile: "build/twin.js" }),
    copyFile(`${root}build/core.wasm`, `${root}dist/workerd/core.wasm`),
  ]);
}

main().catch((error) => {
  console.error(error.stderr || error.stdout || error.message || error);
  process.exit(1);
});
