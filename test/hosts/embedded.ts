// What embedded() must do in every runtime that has it.
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { EmbeddedOptions } from "../../ts/hosts/embedded.ts";
import { type ClosableLink, lazy, reserve, strict } from "../../ts/index.ts";
import { ledgerConformance } from "../ledger/conformance.ts";
import { tenantConformance } from "../tenant/conformance.ts";

/** @param folder  for the files; the caller's to delete */
export function embeddedSuite(
  runtime: string,
  embedded: (options?: EmbeddedOptions) => ClosableLink,
  folder: string,
): void {
  const memory = embedded();
  ledgerConformance(`${runtime} in memory`, async () => memory);
  const tenants: ClosableLink[] = [];
  const opened = (options: EmbeddedOptions) => {
    const link = embedded(options);
    tenants.push(link);
    return link;
  };
  afterAll(async () => {
    for (const link of tenants) await link.close();
  });
  tenantConformance(`${runtime} in memory`, async (options = {}) => opened(options));
  const tenantsPath = join(folder, "tenants.db");
  let tenantsLink = opened({ path: tenantsPath });
  tenantConformance(
    `${runtime} with SQLite`,
    async (options) => (options ? opened({ path: join(folder, "few.db"), ...options }) : tenantsLink),
    async () => {
      await tenantsLink.close();
      tenantsLink = opened({ path: tenantsPath });
      return tenantsLink;
    },
  );

  for (const durability of [strict(), reserve(50), lazy({ every: "1s" })]) {
    const path = join(folder, `${durability.mode}.db`);
    let link = embedded({ path, durability });
    ledgerConformance(
      `${runtime} with SQLite, ${durability.mode}`,
      async () => link,
      async () => {
        await link.close();
        link = embedded({ path, durability });
        return link;
      },
    );
    afterAll(() => link.close());
  }

  test(`${runtime}: a file belongs to one link at a time`, async () => {
    const path = join(folder, "owned.db");
    const owner = embedded({ path });
    expect(() => embedded({ path })).toThrow(/owned\.db is in use by another process/);
    await owner.close();
    await embedded({ path }).close();
  });

  test(`${runtime}: says what is wrong with its options`, () => {
    expect(() => embedded({ path: "" })).toThrow(/path must be a file's path; got ""/);
    expect(() => embedded({ file: "x" } as never)).toThrow(
      /embedded has no option "file"; allowed: path, durability, childrenMax/,
    );
    expect(() => embedded({ path: join(folder, "no", "such", "folder.db") })).toThrow(/can't be opened/);
  });
}
