import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Gives the sources the compiled core, as the build's inlined entry does. */
const core: Plugin = {
  name: "core-inlined",
  enforce: "pre",
  resolveId: (id) => (id === "sluice:core" ? "\0sluice:core" : undefined),
  load(id) {
    if (id !== "\0sluice:core") return undefined;
    const bytes = readFileSync(`${root}build/core.wasm`).toString("base64");
    return `export default Uint8Array.from(atob("${bytes}"), (char) => char.charCodeAt(0));`;
  },
};

export default defineConfig({
  root,
  test: {
    projects: [
      {
        root,
        plugins: [core],
        test: { name: "node", include: ["test/**/*.test.ts"], exclude: ["test/workerd/**"], testTimeout: 60_000 },
      },
    ],
  },
});
