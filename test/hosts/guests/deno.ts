import { embedded, serveLedger } from "../../../ts/hosts/deno.ts";
import { embeddedSuite } from "../embedded.ts";
import { servedSuite } from "../served.ts";
import { clientSuite } from "./client.ts";

embeddedSuite("Deno", embedded, process.env.GUEST_FOLDER as string);
servedSuite("Deno", serveLedger, embedded);
clientSuite("Deno");
