import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import connect from "connect";
import express from "express";
import { byIp, rateLimit } from "../../ts/http/express.ts";
import { conforms, type PlainOptions, type Running } from "./conformance.ts";

async function listen(server: Server, handled: () => number): Promise<Running> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return { port: (server.address() as AddressInfo).port, handled, close };
}

const middleware = ({ onLimit, ...options }: PlainOptions) =>
  rateLimit({
    ...options,
    onLimit: (decision, _, response) => {
      if (!onLimit?.(decision) || options.shadow) return;
      response.statusCode = 418;
      response.end("own");
    },
  });

conforms("express 5", {
  byIp,
  serve(...limiters) {
    let handled = 0;
    const app = express().set("env", "test");
    for (const options of limiters) app.use(middleware(options));
    app.use((request, response) => {
      handled++;
      if (request.path === "/boom") throw new Error("boom");
      response.send("hello");
    });
    return listen(createServer(app), () => handled);
  },
});

conforms("connect", {
  byIp,
  serve(...limiters) {
    let handled = 0;
    const app = connect();
    for (const options of limiters) app.use(middleware(options) as connect.NextHandleFunction);
    app.use((request, response) => {
      handled++;
      if (request.url === "/boom") throw new Error("boom");
      response.end("hello");
    });
    return listen(createServer(app), () => handled);
  },
});
