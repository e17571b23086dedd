// Bundles a Worker as wrangler would, and gives it to Miniflare as modules.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** @param {string} entry  the Worker's source, relative to the project */
export async function bundleWorker(entry) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd"],
    external: ["cloudflare:workers", "*.wasm"],
    write: false,
  });
  const core = await readFile(`${root}dist/workerd/core.wasm`);
  return [
    { type: "ESModule", path: "worker.js", contents: outputFiles[0].text },
    { type: "CompiledWasm", path: "core.wasm", contents: core },
  ];
}
