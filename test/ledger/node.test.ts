import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { lazy, reserve, strict } from "../../ts/index.ts";
import { ledgerConformance } from "./conformance.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-node-"));
afterAll(() => rmSync(folder, { recursive: true }));

const memory = embedded();
ledgerConformance("Node in memory", async () => memory);

for (const durability of [strict(), reserve(50), lazy({ every: "1s" })]) {
  const path = join(folder, `${durability.mode}.db`);
  let link = embedded({ path, durability });
  ledgerConformance(
    `Node with SQLite, ${durability.mode}`,
    async () => link,
    async () => {
      await link.close();
      link = embedded({ path, durability });
      return link;
    },
  );
  afterAll(() => link.close());
}

test("a file belongs to one link at a time", async () => {
  const path = join(folder, "owned.db");
  const owner = embedded({ path });
  expect(() => embedded({ path })).toThrow(/owned\.db is in use by another process/);
  await owner.close();
  await embedded({ path }).close();
});

test("says what is wrong with its options", () => {
  expect(() => embedded({ path: "" })).toThrow(/path must be a file's path; got ""/);
  expect(() => embedded({ file: "x" } as never)).toThrow(/embedded has no option "file"; allowed: path, durability/);
  expect(() => embedded({ path: join(folder, "no", "such", "folder.db") })).toThrow(/can't be opened/);
  expect(() => reserve(0)).toThrow(/chunk must be an integer in 1../);
  expect(() => lazy({ every: "soon" })).toThrow(/every must be a duration/);
});
