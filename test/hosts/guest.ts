// Runs test suites inside another runtime: bundles them, starts the real binary, and reports each
// case there as a case here.
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** How each runtime is started with a script. */
const RUNTIMES = {
  bun: ["node_modules/.bin/bun"],
  deno: ["node_modules/.bin/deno", "run", "--allow-all", "--no-config", "--unstable-kv"],
};
export type Runtime = keyof typeof RUNTIMES;

/** A guest is bundled with the core's bytes, and with the small runner in vitest's place. */
const guestModules: Plugin = {
  name: "guest-modules",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: `${root}test/hosts/guests/vitest.ts` }));
    onResolve({ filter: /^sluice:core$/ }, () => ({ path: `${root}build/core.wasm`, namespace: "core" }));
    onLoad({ filter: /./, namespace: "core" }, async ({ path }) => {
      const { readFile } = await import("node:fs/promises");
      return { contents: await readFile(path), loader: "binary" };
    });
  },
};

/**
 * Runs the suites in the runtime, and declares what came of each case as a test here.
 *
 * @param suites  files under test/, which declare cases when they are imported
 * @param env     what the guest is told
 */
export async function testsInside(runtime: Runtime, suites: string[], env: Record<string, string> = {}): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${runtime}-`));
  try {
    const script = await bundle(folder, suites);
    const [command, ...args] = RUNTIMES[runtime] as [string, ...string[]];
    const version = await run(join(root, command), ["--version"]);
    const name = `${runtime} ${/\d+\.\d+\.\d+/.exec(version.stdout)?.[0]}`;
    const guest = await run(join(root, command), [...args, script], {
      cwd: folder,
      env: { ...process.env, ...env, GUEST_FOLDER: folder, NO_COLOR: "1" },
      timeout: 300_000,
      maxBuffer: 2 ** 26,
    }).catch((error) => error as Required<GuestOutput>);
    report(name, guest);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function bundle(folder: string, suites: string[]): Promise<string> {
  const script = join(folder, "guest", "guest.mjs");
  await bundleGuest(script, suites.map((suite) => `import "./test/${suite}";`).join("\n"));
  // Suites read the vectors from beside their folder.
  cpSync(`${root}test/vectors`, join(folder, "vectors"), { recursive: true });
  return script;
}

/**
 * Bundles a guest: imports of suites, as seen from the root of the repository, which it runs then.
 *
 * @param external  what it imports when it runs
 */
export async function bundleGuest(outfile: string, imports: string, external: string[] = []): Promise<void> {
  await build({
    stdin: { contents: `${imports}\nimport { run } from "vitest"; await run();`, resolveDir: root },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    // The package says that its modules do nothing when imported; its tests do.
    ignoreAnnotations: true,
    conditions: ["import"],
    external: ["node:*", ...external],
    plugins: [guestModules],
    outfile,
    logLevel: "warning",
  });
}

/** What came of a guest: the lines that it printed, and how it failed if it did. */
export interface GuestOutput {
  stdout: string;
  stderr: string;
  message?: string;
}

/** Declares what came of each of a guest's cases as a test here. */
export function report(name: string, guest: GuestOutput): void {
  const lines = guest.stdout.split("\n").filter((line) => line.startsWith("{"));
  const results: { name?: string; error?: string; done?: number }[] = lines.map((line) => JSON.parse(line));
  describe(`inside ${name}`, () => {
    const cases = results.filter((result) => result.name !== undefined);
    for (const { name = "", error } of cases) {
      test(name, () => {
        if (error !== undefined) throw new Error(error);
      });
    }
    test("every case was run, and the guest ended well", () => {
      expect(guest.message ? `${guest.message}\n${guest.stderr}` : "").toBe("");
      expect(cases.length).toBeGreaterThan(0);
      expect(results.at(-1)).toEqual({ done: cases.length });
    });
  });
}
