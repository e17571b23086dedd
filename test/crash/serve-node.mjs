// A host to be killed: ledgers in a Node process. Usage: serve-node.mjs FOLDER
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { embedded } from "sluice/node";

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("./limiters.ts", import.meta.url))],
  bundle: true,
  format: "esm",
  write: false,
  // The package is one of this process: by its own name.
  external: ["sluice"],
});
const source = outputFiles[0].text.replaceAll('"sluice"', JSON.stringify(import.meta.resolve("sluice")));
const { DURABILITIES, serve } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const links = new Map();
const answer = serve((mode) => {
  const path = `${process.argv[2]}/${mode}.db`;
  if (!links.has(mode)) links.set(mode, embedded({ path, durability: DURABILITIES[mode] }));
  return links.get(mode);
});
const server = createServer(async (incoming, outgoing) => {
  const chunks = await incoming.toArray();
  const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
  const request = new Request(`http://host${incoming.url}`, { method: incoming.method, body });
  outgoing.end(await (await answer(request)).text());
});
server.listen(0, "127.0.0.1", () => console.log(`ready http://127.0.0.1:${server.address().port}/`));
