// A Deno server that limits each client by its address. On Deno Deploy, where isolates share no
// disk, take denoKv(await Deno.openKv()) for the link in place of embedded().
//   deno run --allow-net --allow-env --allow-read --allow-write server.js
import { createLimiter, exact, tokenBucket } from "sluice";
import { denoKv, embedded } from "sluice/deno";

const onDeploy = Deno.env.has("DENO_DEPLOYMENT_ID");
const limiter = createLimiter({
  policy: tokenBucket({ rate: 10, per: "1m", burst: 5 }),
  name: "api",
  design: exact(),
  link: onDeploy ? denoKv(await Deno.openKv()) : embedded({ path: Deno.env.get("LEDGER") ?? "ledger.db" }),
  onUnreachable: "allow",
});

const listening = {
  port: Number(Deno.env.get("PORT") ?? "8080"),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`http://127.0.0.1:${port}/`),
};
Deno.serve(listening, async (_, { remoteAddr }) => {
  const { success, retryAfterMs } = await limiter.limit(remoteAddr.hostname);
  if (success) return new Response("Hello\n");
  const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  return new Response("Too many requests\n", { status: 429, headers });
});
