//   deno run --allow-net --allow-env --allow-read deno.js
import app from "./app.js";

const listening = {
  port: Number(Deno.env.get("PORT") ?? "8080"),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`http://127.0.0.1:${port}/`),
};
Deno.serve(listening, app.fetch);
