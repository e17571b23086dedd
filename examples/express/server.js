// An Express server that limits each client by its address, within this process.
//   npm install sluice express
//   node server.js
import express from "express";
import { createLimiter, tokenBucket } from "sluice";
import { byIp, rateLimit } from "sluice/express";

const limiter = createLimiter({ name: "api", policy: tokenBucket({ rate: 10, per: "1m", burst: 5 }) });

const app = express();
// Behind a proxy of your own say so: byIp({ trust: 1 }).
app.use(rateLimit({ limiter, key: byIp() }));
app.get("/", (_, response) => void response.type("text/plain").send("Hello\n"));

const server = app.listen(Number(process.env.PORT ?? "8080"), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${server.address().port}/`),
);
