import { env, runInDurableObject } from "cloudflare:test";
import type { LedgerNamespace } from "../../ts/hosts/durable-object.ts";
import { tenants } from "../../ts/hosts/durable-object.ts";
import { tenantConformance } from "../tenant/conformance.ts";

/** Every object that was asked, so that all can be stopped. */
const asked = new Set<string>();
const watched: LedgerNamespace = {
  idFromName(name) {
    asked.add(name);
    return env.TENANTS.idFromName(name);
  },
  get: (id) => env.TENANTS.get(id),
};

tenantConformance(
  "a Durable Object with facets",
  async (options) => tenants(watched, options),
  async () => {
    for (const name of asked) {
      const stub = env.TENANTS.get(env.TENANTS.idFromName(name) as never);
      await runInDurableObject(stub, (_, state) => state.abort("stopped by the test")).catch(() => {});
    }
    return tenants(watched);
  },
);
