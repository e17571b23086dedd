//   bun bun.js
import app from "./app.js";

const server = Bun.serve({ fetch: app.fetch, port: Number(process.env.PORT ?? "8080"), hostname: "127.0.0.1" });
console.log(`http://127.0.0.1:${server.port}/`);
