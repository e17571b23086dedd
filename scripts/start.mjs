// Runs examples/worker in the real Workers runtime: the limiter, its ledgers in Durable Objects,
// and a sample origin behind it. Budgets are kept in .sluice/ and outlive a restart.
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const HOST = "127.0.0.1";
const HELP = `Usage: npm start -- [options]

Runs a rate limiter in front of a sample origin, in the Workers runtime.

  --port N         the port to listen on, 8787 unless given; 0 takes a free one
  --policy POLICY  tokenBucket:rate=10,per=1m,burst=20 unless given; or
                   fixedWindow:limit=100,window=1h, slidingWindow:limit=30,window=1m
  --state FOLDER   where budgets are kept, .sluice unless given
  --help           this text
`;

/** Something the user can put right: said in a line, without a stack. */
class Failure extends Error {}

function optionsOf(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: "string", default: "8787" },
        policy: { type: "string", default: "tokenBucket:rate=10,per=1m,burst=20" },
        state: { type: "string", default: `${root}.sluice` },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    const port = Number(values.port);
    if (!/^\d+$/.test(values.port) || port > 65_535) {
      throw new Failure(`--port must be a whole number in 0..65535; got "${values.port}"`);
    }
    return { ...values, port };
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${error.message.split(". ")[0]}; try --help`);
  }
}

/** The port itself if it is free, or a free one for 0. */
function freePort(port) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => {
      const why =
        error.code === "EADDRINUSE" ? "is in use; choose another with --port N" : `can't be used: ${error.code}`;
      reject(new Failure(`port ${port} ${why}`));
    });
    server.listen(port, HOST, () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
}

/** Calls back once nobody listens on the port any more. */
function whenGone(port, callback) {
  const watch = setInterval(() => {
    const socket = connect(port, HOST);
    socket.once("connect", () => socket.destroy());
    socket.once("error", () => {
      clearInterval(watch);
      callback();
    });
  }, 1000);
  return () => clearInterval(watch);
}

async function start({ port: wanted, policy, state }) {
  if (!existsSync(`${root}dist/workerd/durable-object.js`)) {
    throw new Failure("there is no build; run `npm start`, or `npm run build` first");
  }
  const { parsePolicy } = await import("sluice");
  try {
    parsePolicy(policy);
  } catch (error) {
    throw new Failure(`--policy: ${error.message}`);
  }
  const port = await freePort(wanted);
  const [{ Miniflare }, { bundleWorker }] = await Promise.all([import("miniflare"), import("./bundle-worker.mjs")]);
  const compatibilityDate = "2026-04-01";
  const mf = new Miniflare({
    host: HOST,
    port,
    durableObjectsPersist: `${state}/objects`,
    workers: [
      {
        name: "limiter",
        modules: await bundleWorker("examples/worker/index.ts"),
        compatibilityDate,
        bindings: { POLICY: policy },
        durableObjects: { LEDGER: { className: "LedgerObject", useSQLite: true } },
        serviceBindings: { ORIGIN: "origin" },
      },
      { name: "origin", modules: true, scriptPath: `${root}examples/worker/origin.js`, compatibilityDate },
    ],
  });
  const stop = async (code) => {
    stopWatching();
    await mf.dispose();
    process.exit(code);
  };
  let stopWatching = () => {};
  for (const signal of ["SIGINT", "SIGTERM"]) {
    // Miniflare would exit at once, with an error's code.
    process.removeAllListeners(signal);
    process.once(signal, () => stop(0));
  }
  await mf.ready;
  stopWatching = whenGone(port, () => {
    console.error("start: the Workers runtime has stopped");
    stop(1);
  });
  const address = `http://${HOST}:${port}`;
  console.log(`
A rate limiter in front of a sample origin, in the Workers runtime (workerd).

  address  ${address}
  policy   ${policy}, for each client
  state    ${state}, kept over a restart

Try it:  for i in $(seq 25); do curl -s -o /dev/null -w '%{http_code} ' ${address}; done; echo
Headers: curl -i ${address}
Another client: curl -i -H 'cf-connecting-ip: 192.0.2.7' ${address}   (Cloudflare would not let it choose)
Stop with Ctrl-C.
`);
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else await start(options);
} catch (error) {
  console.error(error instanceof Failure ? `start: ${error.message}` : error);
  process.exitCode = 1;
}
