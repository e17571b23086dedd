import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig, type Plugin } from "vitest/config";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Gives the sources the compiled core, as the build's inlined entry does. */
const inlined: Plugin = {
  name: "core-inlined",
  enforce: "pre",
  resolveId: (id) => (id === "sluice:core" ? "\0sluice:core" : undefined),
  load(id) {
    if (id !== "\0sluice:core") return undefined;
    const bytes = readFileSync(`${root}build/core.wasm`).toString("base64");
    return `export default Uint8Array.from(atob("${bytes}"), (char) => char.charCodeAt(0));`;
  },
};

/** Gives them the core as a module, as the build's entry for Workers does. */
const imported: Plugin = {
  name: "core-imported",
  enforce: "pre",
  resolveId: (id) => (id === "sluice:core" ? `${root}build/core.wasm` : undefined),
};

export default defineConfig({
  root,
  test: {
    projects: [
      {
        root,
        plugins: [inlined],
        test: { name: "node", include: ["test/**/*.test.ts"], exclude: ["test/workerd/**"], testTimeout: 60_000 },
      },
      {
        root,
        plugins: [
          imported,
          cloudflareTest({
            main: "./test/workerd/worker.ts",
            miniflare: {
              compatibilityDate: "2026-04-01",
              durableObjects: {
                LEDGER: { className: "LedgerObject", useSQLite: true },
                TENANTS: { className: "TenantObject", useSQLite: true },
                MIDDLE: { className: "MiddleObject", useSQLite: true },
              },
              modulesRules: [{ type: "CompiledWasm", include: ["**/*.wasm"] }],
            },
          }),
        ],
        test: { name: "workerd", include: ["test/workerd/**/*.test.ts"], testTimeout: 60_000 },
      },
    ],
  },
});
