// The Worker under test: it only lends its classes to the tests.
export { LedgerObject, TenantObject } from "../../ts/hosts/durable-object.ts";

export default { fetch: () => new Response("no requests here", { status: 404 }) };
