import { mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A mistake in a source file: what is right becomes wrong. */
export interface Mistake {
  file: string;
  right: string;
  wrong: string;
}

/** The simulator over sources with mistakes in them. @throws {Error} as moduleWith does */
export function simulatorWith(...mistakes: Mistake[]): Promise<typeof import("../../ts/sim/index.ts")> {
  return moduleWith("ts/sim/index.ts", ...mistakes);
}

/**
 * A module over sources with mistakes in them.
 * @throws {Error} a file doesn't hold what is right exactly once
 */
export async function moduleWith<T>(entry: string, ...mistakes: Mistake[]): Promise<T> {
  return import(/* @vite-ignore */ await bundleWith(entry, ...mistakes));
}

/** Where the bundle of a module over sources with mistakes in them is. @throws {Error} as moduleWith does */
export async function bundleWith(entry: string, ...mistakes: Mistake[]): Promise<string> {
  const mutated = new Map<string, string>();
  for (const { file, right, wrong } of mistakes) {
    const source = mutated.get(`${root}${file}`) ?? (await readFile(`${root}${file}`, "utf8"));
    if (source.split(right).length !== 2) throw new Error(`${file} must hold once: ${right}`);
    mutated.set(
      `${root}${file}`,
      source.replace(right, () => wrong),
    );
  }
  const mutant: Plugin = {
    name: "mutant",
    setup(build) {
      build.onResolve({ filter: /^sluice:core$/ }, () => ({ path: `${root}build/core.wasm`, namespace: "core" }));
      build.onLoad({ filter: /.*/, namespace: "core" }, async ({ path }) => ({
        contents: await readFile(path),
        loader: "binary",
      }));
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = mutated.get(path);
        return contents === undefined ? undefined : { contents, loader: "ts" };
      });
    },
  };
  await mkdir(`${root}build/mutants`, { recursive: true });
  const outfile = `${root}build/mutants/${hash(JSON.stringify([entry, mistakes]))}.mjs`;
  await build({
    entryPoints: [`${root}${entry}`],
    bundle: true,
    format: "esm",
    target: "es2022",
    outfile,
    external: ["node:*"],
    plugins: [mutant],
    logLevel: "error",
  });
  return outfile;
}

function hash(text: string): string {
  let hash = 0;
  for (const char of text) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return hash.toString(16);
}
