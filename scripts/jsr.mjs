// Publishes to JSR, as jsr.json says, with whatever `deno publish` is to be told: --dry-run to see
// what it would do. It needs the build: the sources import the core, which is made by it.
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Copies what is published into a folder by itself, where Node's types and settings are not in the way. */
export async function stage(folder) {
  for (const path of ["jsr.json", "README.md", "LICENSE", "CHANGELOG.md", "ts", "build/core.ts"]) {
    await cp(join(root, path), join(folder, path), { recursive: true });
  }
}

async function main() {
  const folder = await mkdtemp(join(tmpdir(), "sluice-jsr-"));
  try {
    await stage(folder);
    const deno = join(root, "node_modules/.bin/deno");
    const { status } = spawnSync(deno, ["publish", ...process.argv.slice(2)], { cwd: folder, stdio: "inherit" });
    process.exitCode = status ?? 1;
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
