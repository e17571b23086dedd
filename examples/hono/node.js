//   npm install @hono/node-server
//   node node.js
import { serve } from "@hono/node-server";
import app from "./app.js";

const port = Number(process.env.PORT ?? "8080");
serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, (info) => console.log(`http://127.0.0.1:${info.port}/`));
