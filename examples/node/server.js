// A Node server that limits each client by its address. Budgets are kept in a file, and outlive
// a restart.
//   npm install sluice better-sqlite3@12      (Node 22.13 and newer need no better-sqlite3)
//   node server.js
import { createServer } from "node:http";
import { createLimiter, exact, tokenBucket } from "sluice";
import { embedded } from "sluice/node";

const { PORT = "8080", LEDGER = "ledger.db" } = process.env;
const limiter = createLimiter({
  policy: tokenBucket({ rate: 10, per: "1m", burst: 5 }),
  name: "api",
  design: exact(),
  link: embedded({ path: LEDGER }),
  onUnreachable: "allow",
});

const server = createServer(async (request, response) => {
  const { success, retryAfterMs } = await limiter.limit(request.socket.remoteAddress ?? "unknown");
  if (success) return response.end("Hello\n");
  response.writeHead(429, { "retry-after": Math.ceil(retryAfterMs / 1000) }).end("Too many requests\n");
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
