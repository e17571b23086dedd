// The package as JSR would have it: the sources themselves, and the core that the build makes.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
// @ts-expect-error plain JavaScript, which publishes the same
import { stage } from "../../scripts/jsr.mjs";
import { bin } from "./project.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-jsr-test-"));
afterAll(() => rmSync(folder, { recursive: true }));
await stage(join(folder, "package"));
const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
const { name, version, exports, imports } = read(join(folder, "package/jsr.json"));

const env = { ...process.env, NO_COLOR: "1" };
const deno = (cwd: string, ...args: string[]) => promisify(execFile)(bin("deno"), args, { cwd, env });

describe("the package for JSR", () => {
  test("has the version of the other one", () => {
    expect(version).toBe(read("package.json").version);
  });

  test("type-checks, has no slow types, and holds no platform that JSR has not", async () => {
    const { stdout, stderr } = await deno(join(folder, "package"), "publish", "--dry-run", "--allow-dirty");
    expect(stderr + stdout).toContain("Success");
    const files = [...(stderr + stdout).matchAll(/file:\/\/\S+\/package\/(\S+)/g)].map(([, path]) => path);
    expect(files).toEqual(expect.arrayContaining(["ts/index.ts", "build/core.ts", "README.md", "LICENSE"]));
    expect(files.filter((path) => /cli|durable-object|workerd|express|fastify|hono|\.json$/.test(`${path}`))).toEqual([
      "jsr.json",
    ]);
  });

  test("does in Deno what it should, imported by its name there", async () => {
    const url = (path: string) => new URL(path, `file://${folder}/package/`).href;
    const names = Object.entries(exports as Record<string, string>).map(([entry, path]) => [
      join(`jsr:${name}@${version}`, entry),
      url(path),
    ]);
    const map = { imports: { ...Object.fromEntries(names), "sluice:core": url(imports["sluice:core"]) } };
    writeFileSync(join(folder, "map.json"), JSON.stringify(map));
    writeFileSync(
      join(folder, "program.ts"),
      `
      import { createLimiter, exact, lease, tokenBucket } from "jsr:${name}@${version}";
      import { embedded } from "jsr:${name}@${version}/deno";
      const policy = tokenBucket({ rate: 1, per: "1d", burst: 2 });
      const link = embedded();
      const over = (design) => createLimiter({ policy, name: design.kind, design, link, onUnreachable: "deny" });
      for (const limiter of [createLimiter({ policy }), over(exact()), over(lease())]) {
        const decisions = [];
        for (let call = 0; call < 3; call++) decisions.push((await limiter.limit("user")).success);
        console.log(decisions.join(" "));
        await limiter.close();
      }
      await link.close();
      `,
    );
    const { stdout } = await deno(folder, "run", "--no-config", "--import-map=map.json", "--allow-read", "program.ts");
    expect(stdout.trim().split("\n")).toEqual(Array(3).fill("true true false"));
  });
});
