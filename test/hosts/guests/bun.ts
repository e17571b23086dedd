import { embedded, serveLedger } from "../../../ts/hosts/bun.ts";
import { embeddedSuite } from "../embedded.ts";
import { servedSuite } from "../served.ts";
import { clientSuite } from "./client.ts";

embeddedSuite("Bun", embedded, process.env.GUEST_FOLDER as string);
servedSuite("Bun", serveLedger, embedded);
clientSuite("Bun");
