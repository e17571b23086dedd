// Hosts in processes of their own, which can be killed without a warning.
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A host process, and everything that it started. */
export interface Host {
  url: string;
  /** SIGKILL to the whole process group, if it is there; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts a host that keeps its ledgers in `folder`. */
export type Start = (folder: string) => Promise<Host>;

export const startWorkerd = startScript("test/crash/serve-workerd.mjs");

/** A host that is a script for Node. */
export function startScript(script: string): Start {
  return (folder) => start([process.execPath, resolve(root, script), folder]);
}

const RUNTIMES = {
  node: [process.execPath],
  bun: [`${root}node_modules/.bin/bun`],
  deno: [`${root}node_modules/.bin/deno`, "run", "--allow-all", "--no-config"],
};

/** Bundles the host for a runtime, and gives what starts it. */
export async function startProcess(runtime: keyof typeof RUNTIMES): Promise<Start> {
  // Among the package's own files, where Node finds its SQLite.
  const outfile = `${root}build/crash-${runtime}.mjs`;
  await build({
    absWorkingDir: root,
    entryPoints: ["test/crash/serve-process.ts"],
    alias: { "sluice/node": `sluice/${runtime}` },
    external: ["node:*"],
    bundle: true,
    format: "esm",
    platform: "neutral",
    ignoreAnnotations: true,
    logLevel: "error",
    outfile,
  });
  return (folder) => start([...RUNTIMES[runtime], outfile, folder]);
}

function start([command, ...args]: string[]): Promise<Host> {
  // Its input ends with this process, and it with its input.
  const child = spawn(command as string, args, { detached: true, stdio: ["pipe", "pipe", "inherit"] });
  const gone = new Promise<void>((closed) => child.once("close", () => closed()));
  const kill = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), "SIGKILL");
    return gone;
  };
  return new Promise((ready, reject) => {
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
      const url = /^ready (\S+)$/m.exec(said)?.[1];
      if (url) ready({ url, kill });
    });
    child.once("error", reject);
    void gone.then(() => reject(new Error(`${args} ended before it was ready: ${said}`)));
  });
}
