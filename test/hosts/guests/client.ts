import { remote } from "../../../ts/hosts/remote.ts";
import { ledgerConformance } from "../../ledger/conformance.ts";

/** A caller in this runtime of ledgers that a Node process serves. */
export function clientSuite(runtime: string): void {
  const { LEDGER_URL = "", LEDGER_TOKEN = "" } = process.env;
  const link = remote(LEDGER_URL, { token: LEDGER_TOKEN, timeout: "20s" });
  ledgerConformance(`${runtime}, calling a ledger that Node serves, and`, async () => link);
}
