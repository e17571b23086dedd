// A Bun server that limits each client by its address, and serves its ledgers to other processes,
// which reach the same budgets by remote(url, { token }): see ../fleet.
//   LEDGER_TOKEN=a-long-random-secret bun server.js
import { createLimiter, exact, tokenBucket } from "sluice";
import { embedded, serveLedger } from "sluice/bun";

const { PORT = "8080", LEDGER = "ledger.db", LEDGER_PORT = "8081", LEDGER_TOKEN } = process.env;
const link = embedded({ path: LEDGER });
const limiter = createLimiter({
  policy: tokenBucket({ rate: 10, per: "1m", burst: 5 }),
  name: "api",
  design: exact(),
  link,
  onUnreachable: "allow",
});

const server = Bun.serve({
  port: Number(PORT),
  hostname: "127.0.0.1",
  async fetch(request, server) {
    const { success, retryAfterMs } = await limiter.limit(server.requestIP(request).address);
    if (success) return new Response("Hello\n");
    const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
    return new Response("Too many requests\n", { status: 429, headers });
  },
});
const ledger = await serveLedger({ link, port: Number(LEDGER_PORT), token: LEDGER_TOKEN });
console.log(`http://127.0.0.1:${server.port}/ and ledgers at http://127.0.0.1:${ledger.port}/`);
