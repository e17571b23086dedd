// A host to be killed: tenants with facets in workerd. Usage: crash-workerd.mjs FOLDER
import { Miniflare } from "miniflare";
import { bundleWorker } from "../../scripts/bundle-worker.mjs";

const mf = new Miniflare({
  modules: await bundleWorker("test/tenant/crash-worker.ts"),
  compatibilityDate: "2026-04-01",
  durableObjects: { TENANTS: { className: "TenantObject", useSQLite: true } },
  durableObjectsPersist: process.argv[2],
});
console.log(`ready ${await mf.ready}`);
process.stdin.on("end", () => mf.dispose()).resume();
