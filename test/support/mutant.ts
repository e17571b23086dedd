import { mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The simulator over sources with one mistake in them: `right` of `file` becomes `wrong`.
 * @throws {Error} the file doesn't hold `right` exactly once
 */
export async function simulatorWith(
  file: string,
  right: string,
  wrong: string,
): Promise<typeof import("../../ts/sim/index.ts")> {
  const path = `${root}${file}`;
  const source = await readFile(path, "utf8");
  if (source.split(right).length !== 2) throw new Error(`${file} must hold once: ${right}`);
  const mistake: Plugin = {
    name: "mistake",
    setup(build) {
      build.onResolve({ filter: /^sluice:core$/ }, () => ({ path: `${root}build/core.wasm`, namespace: "core" }));
      build.onLoad({ filter: /.*/, namespace: "core" }, async ({ path }) => ({
        contents: await readFile(path),
        loader: "binary",
      }));
      build.onLoad({ filter: /\.ts$/ }, ({ path: loaded }) =>
        loaded === path ? { contents: source.replace(right, () => wrong), loader: "ts" } : undefined,
      );
    },
  };
  await mkdir(`${root}build/mutants`, { recursive: true });
  const outfile = `${root}build/mutants/${hash(file + right + wrong)}.mjs`;
  await build({
    entryPoints: [`${root}ts/sim/index.ts`],
    bundle: true,
    format: "esm",
    target: "es2022",
    outfile,
    plugins: [mistake],
    logLevel: "error",
  });
  return import(/* @vite-ignore */ outfile);
}

function hash(text: string): string {
  let hash = 0;
  for (const char of text) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return hash.toString(16);
}
