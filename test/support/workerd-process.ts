// A Worker in a workerd process of its own, without Miniflare around it: one process to start, to
// reach and to kill.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
// @ts-expect-error a script without types
import { bundleWorker } from "../../scripts/bundle-worker.mjs";

// The very version that Miniflare runs.
const workerd = createRequire(createRequire(import.meta.url).resolve("miniflare"))("workerd").default as string;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export interface WorkerOptions {
  /** The Worker's source, relative to the project. */
  entry: string;
  /** Texts that it finds in its env. */
  env: Record<string, string>;
  /** Bindings of Durable Objects, each with its class. They are stored on disk, and survive a kill. */
  objects?: Record<string, string>;
}

export class WorkerdProcess {
  /** Where it listens: new in each life. */
  port = 0;
  readonly #folder: string;
  #child: ChildProcess | null = null;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Bundles a Worker, and starts it. */
  static async start(options: WorkerOptions): Promise<WorkerdProcess> {
    const folder = await mkdtemp(join(tmpdir(), "sluice-workerd-"));
    await mkdir(join(folder, "objects"));
    const modules: { type: string; path: string; contents: string | Uint8Array }[] = await bundleWorker(options.entry);
    for (const { path, contents } of modules) await writeFile(join(folder, path), contents);
    const paths = modules.map(({ path }) => path);
    await writeFile(join(folder, "config.capnp"), configOf(options, paths));
    const started = new WorkerdProcess(folder);
    await started.start();
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts it again, after a kill. */
  async start(): Promise<void> {
    const child = spawn(workerd, ["serve", "config.capnp", "--experimental", "--control-fd=3"], {
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "inherit", "pipe"],
    });
    this.#child = child;
    running.add(child);
    child.once("exit", () => running.delete(child));
    this.port = await new Promise((resolve, reject) => {
      let said = "";
      child.stdio[3]?.on("data", (chunk) => {
        said += chunk;
        const port = /"event":"listen".*"port":(\d+)/.exec(said)?.[1];
        if (port) resolve(Number(port));
      });
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`workerd ended before it listened: ${said}`)));
    });
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  /** Kills it, and removes what it stored. */
  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function configOf({ env, objects = {} }: WorkerOptions, paths: readonly string[]): string {
  const modules = paths.map(
    (path) => `(name = "${path}", ${path.endsWith(".wasm") ? "wasm" : "esModule"} = embed "${path}")`,
  );
  const texts = Object.entries(env).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`);
  const stubs = Object.entries(objects).map(([name, type]) => `(name = "${name}", durableObjectNamespace = "${type}")`);
  const classes = Object.values(objects).map(
    (type) => `(className = "${type}", uniqueKey = "${type}", enableSql = true)`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      compatibilityDate = "2026-04-01",
      modules = [${modules.join(", ")}],
      bindings = [${[...texts, ...stubs].join(", ")}],
      durableObjectNamespaces = [${classes.join(", ")}],
      ${classes.length > 0 ? 'durableObjectStorage = (localDisk = "objects"),' : ""}
    )),
    (name = "internet", network = (allow = ["public", "private"])),
    (name = "objects", disk = (path = "objects", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
}
