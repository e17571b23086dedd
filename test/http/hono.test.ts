import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { byIp, rateLimit } from "../../ts/http/hono.ts";
import { conforms } from "./conformance.ts";

conforms("hono", {
  byIp,
  async serve(...limiters) {
    let handled = 0;
    const app = new Hono();
    for (const { onLimit, ...options } of limiters) {
      app.use(
        rateLimit({
          ...options,
          onLimit: (decision, context) => (onLimit?.(decision) ? context.text("own", 418) : undefined),
        }),
      );
    }
    app.all("*", (context) => {
      handled++;
      if (context.req.path === "/boom") throw new Error("boom");
      return context.text("hello");
    });
    app.onError((_, context) => context.text("failed", 500));
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    await new Promise((resolve) => server.once("listening", resolve));
    const close = () => new Promise((resolve) => server.close(resolve));
    return { port: (server.address() as AddressInfo).port, handled: () => handled, close };
  },
});
