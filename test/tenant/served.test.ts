import { afterAll } from "vitest";
import { embedded, serveLedger } from "../../ts/hosts/node.ts";
import { remote } from "../../ts/hosts/remote.ts";
import { tenantConformance } from "./conformance.ts";

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

tenantConformance("a served ledger", async (options = {}) => {
  const ledgers = embedded();
  const server = await serveLedger({ link: ledgers });
  const link = remote(`http://127.0.0.1:${server.port}`, options);
  closing.push(
    () => ledgers.close(),
    () => server.close(),
    () => link.close(),
  );
  return link;
});
