// One of many Node processes that share the budgets of ../bun: its ledgers live there, and are
// reached over HTTP.
//   LEDGER_URL=http://127.0.0.1:8081/ LEDGER_TOKEN=a-long-random-secret node server.js
import { createServer } from "node:http";
import { createLimiter, exact, tokenBucket } from "sluice";
import { remote } from "sluice/remote";

const { PORT = "8090", LEDGER_URL = "http://127.0.0.1:8081/", LEDGER_TOKEN } = process.env;
const limiter = createLimiter({
  policy: tokenBucket({ rate: 10, per: "1m", burst: 5 }),
  name: "api",
  design: exact(),
  link: remote(LEDGER_URL, { token: LEDGER_TOKEN }),
  onUnreachable: "allow",
});

const server = createServer(async (request, response) => {
  const { success, retryAfterMs } = await limiter.limit(request.socket.remoteAddress ?? "unknown");
  if (success) return response.end("Hello\n");
  response.writeHead(429, { "retry-after": Math.ceil(retryAfterMs / 1000) }).end("Too many requests\n");
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
