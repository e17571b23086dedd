// An empty project with the packed package in it, as a stranger gets it. `npm run build` comes first.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const execute = promisify(execFile);

export const bin = (name: string) => join(root, "node_modules/.bin", name);

export interface Project {
  folder: string;
  /** The tarball's name, and what is in it. */
  filename: string;
  files: { path: string }[];
  write(name: string, text: string): void;
  /** Runs a command in the project, and gives what it printed. */
  run(command: string, args: string[]): Promise<string>;
}

/** Makes one, and deletes it after all tests of the file that asks. */
export async function installPacked(): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-package-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const run = (command: string, args: string[]) => runIn(folder, command, args);
  write("package.json", JSON.stringify({ name: "empty", private: true, type: "module" }));
  const packed = await runIn(root, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]);
  const [{ filename, files }] = Object.values(JSON.parse(packed)) as [Pick<Project, "filename" | "files">];
  await run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", `./${filename}`]);
  return { folder, filename, files, write, run };
}

async function runIn(cwd: string, command: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await execute(command, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" },
    });
    return stdout;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout: string };
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
}
