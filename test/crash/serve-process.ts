// A host to be killed: ledgers in a process of Node, Bun or Deno. Usage: serve-process FOLDER
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
// Another runtime's entry when it is bundled for that.
import { embedded } from "sluice/node";
import { DURABILITIES, serve } from "./budgets.ts";

const answer = serve((budget) =>
  embedded({ path: `${process.argv[2]}/${budget}.db`, durability: DURABILITIES[budget] }),
);
const server = createServer(async (incoming, outgoing) => {
  let body = "";
  for await (const chunk of incoming) body += chunk;
  const { method = "GET", url } = incoming;
  const request = new Request(`http://host${url}`, method === "GET" ? {} : { method, body });
  outgoing.end(await (await answer(request)).text());
});
server.listen(0, "127.0.0.1", () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
process.stdin.on("end", () => process.exit()).resume();
