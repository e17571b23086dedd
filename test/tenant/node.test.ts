import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { embedded, serveLedger } from "../../ts/hosts/node.ts";
import { remote } from "../../ts/hosts/remote.ts";
import type { ClosableLink } from "../../ts/index.ts";
import { tenantConformance } from "./conformance.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-tenant-"));
const opened: ClosableLink[] = [];
const kept = (link: ClosableLink) => {
  opened.push(link);
  return link;
};
afterAll(async () => {
  for (const link of opened) await link.close();
  rmSync(folder, { recursive: true });
});

tenantConformance("Node in memory", async (options = {}) => kept(embedded(options)));

const path = join(folder, "tenants.db");
let link = embedded({ path });
tenantConformance(
  "Node with SQLite",
  async (options) => (options ? kept(embedded({ path: join(folder, "few.db"), ...options })) : link),
  async () => {
    await link.close();
    link = kept(embedded({ path }));
    return link;
  },
);

tenantConformance("a served ledger", async (options = {}) => {
  const { port } = await serveLedger({ link: kept(embedded()) });
  return kept({ ...remote(`http://127.0.0.1:${port}`), ...options });
});
