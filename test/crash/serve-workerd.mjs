// A host to be killed: the Worker in workerd. Usage: serve-workerd.mjs FOLDER
import { Miniflare } from "miniflare";
import { bundleWorker } from "../../scripts/bundle-worker.mjs";

const mf = new Miniflare({
  modules: await bundleWorker("test/crash/worker.ts"),
  compatibilityDate: "2026-04-01",
  durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
  durableObjectsPersist: process.argv[2],
});
console.log(`ready ${await mf.ready}`);
process.stdin.on("end", () => mf.dispose()).resume();
