// The packed package inside a real Chromium: its files as they are, and Vite's bundle of them.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as viteBuild } from "vite";
import { expect, test } from "vitest";
import { bundleGuest, type GuestOutput, report } from "../hosts/guest.ts";
import { chromiumMissing, startChromium } from "../support/chromium.ts";
import { installPacked } from "./project.ts";

const TYPES: Record<string, string> = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
};
const GUEST = `
  import "./test/designs/lease.test.ts";
  import "./test/hold.test.ts";
  import "./test/wait.test.ts";
  import { limiterSuite } from "./test/package/limiter-suite.ts";
  import * as packed from "/packed/index.js";
  import * as bundled from "/out/app.js";
  import { expect, test } from "vitest";
  const vectors = await (await fetch("/vectors.json")).json();
  limiterSuite("sluice as it is packed", packed, vectors);
  limiterSuite("sluice in a bundle by Vite", bundled, vectors);
  test("there are 120 cases", () => expect(vectors.length).toBe(120));
`;

if (chromiumMissing && process.env.CI === undefined) {
  test.skip(`inside Chromium: ${chromiumMissing}`, () => {});
} else if (chromiumMissing) {
  test("there is a Chromium, as there must be in CI", () => expect(chromiumMissing).toBeUndefined());
} else {
  const { folder, write } = await installPacked();
  write("app.js", 'export * from "sluice";');
  await viteBuild({
    root: folder,
    configFile: false,
    logLevel: "error",
    build: { lib: { entry: "app.js", formats: ["es"], fileName: "app" }, outDir: "out", minify: true },
  });
  await bundleGuest(join(folder, "guest.mjs"), GUEST, ["/packed/*", "/out/*"]);
  const browser = await startChromium();
  try {
    report(`Chromium ${browser.version()}`, await visit(folder));
  } finally {
    await browser.close();
  }

  /** Serves the project to a page, and gives what the guest printed there. */
  async function visit(folder: string): Promise<GuestOutput> {
    const server = createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://h").pathname;
      if (path === "/") {
        response.setHeader("content-type", "text/html");
        return response.end('<!doctype html><meta charset="utf-8"><script type="module" src="/guest.mjs"></script>');
      }
      try {
        const body = readFileSync(fileOf(folder, path));
        response.setHeader("content-type", TYPES[extname(path)] ?? "application/octet-stream");
        return response.end(body);
      } catch {
        return response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const lines: string[] = [];
    const errors: string[] = [];
    const page = await browser.newPage();
    try {
      const done = new Promise<void>((resolve) => {
        page.on("console", (message) => {
          lines.push(message.text());
          if (message.text().startsWith('{"done"')) resolve();
        });
        page.on("pageerror", (error) => {
          errors.push(String(error.stack));
          resolve();
        });
      });
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await done;
    } finally {
      await page.close();
      server.close();
    }
    const output = { stdout: lines.join("\n"), stderr: errors.join("\n") };
    return errors.length > 0 ? { ...output, message: "the page failed" } : output;
  }
}

function fileOf(folder: string, path: string): string {
  if (path === "/vectors.json") return fileURLToPath(new URL("../vectors/policies.json", import.meta.url));
  return join(folder, path.replace(/^\/packed\//, "/node_modules/sluice/dist/"));
}
