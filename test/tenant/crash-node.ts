// A host to be killed: tenants in a process of Node, without facets. Usage: crash-node FOLDER
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { embedded } from "../../ts/hosts/node.ts";
import { createLimiter, exact, tokenBucket } from "../../ts/index.ts";
import { OWN, PLAN, serve } from "./crash-served.ts";

const answer = serve(() =>
  createLimiter({
    policy: tokenBucket({ rate: 1, per: "365d", burst: OWN }),
    plan: tokenBucket({ rate: 1, per: "365d", burst: PLAN }),
    design: exact(),
    link: embedded({ path: `${process.argv[2]}/tenants.db` }),
    onUnreachable: "deny",
    deadline: "20s",
  }),
);
const server = createServer(async (incoming, outgoing) => {
  outgoing.end(await (await answer(`http://host${incoming.url}`)).text());
});
server.listen(0, "127.0.0.1", () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
process.stdin.on("end", () => process.exit()).resume();
