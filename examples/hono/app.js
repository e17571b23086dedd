// A Hono app that limits each client by its address: the same file in every runtime. Beside it
// stands what each needs to serve it.
//   npm install sluice hono
import { Hono } from "hono";
import { createLimiter, tokenBucket } from "sluice";
import { byIp, rateLimit } from "sluice/hono";

const limiter = createLimiter({ name: "api", policy: tokenBucket({ rate: 10, per: "1m", burst: 5 }) });

const app = new Hono();
app.use(rateLimit({ limiter, key: byIp() }));
app.get("/", (context) => context.text("Hello\n"));

// What Workers look for. Each of their isolates counts alone here: see ../worker for one count over all.
export default app;
