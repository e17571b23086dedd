// The Worker under test: it only lends its class to the tests.
export { LedgerObject } from "../../ts/hosts/durable-object.ts";

export default { fetch: () => new Response("no requests here", { status: 404 }) };
