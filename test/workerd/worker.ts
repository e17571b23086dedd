// The Worker under test: it only lends its classes to the tests.
export { LedgerObject, MiddleObject } from "../../ts/hosts/durable-object.ts";

export default { fetch: () => new Response("no requests here", { status: 404 }) };
