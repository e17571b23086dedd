import { embedded, serveLedger } from "../../ts/hosts/node.ts";
import { testsInside } from "./guest.ts";

const token = "a-token-for-a-guest";
const ledgers = embedded();
const server = await serveLedger({ link: ledgers, token });
await testsInside(
  "deno",
  ["policies/vectors.test.ts", "hosts/guests/everywhere.ts", "hosts/guests/deno.ts", "hosts/guests/deno-kv.ts"],
  {
    LEDGER_URL: `http://127.0.0.1:${server.port}`,
    LEDGER_TOKEN: token,
  },
);
await server.close();
await ledgers.close();
