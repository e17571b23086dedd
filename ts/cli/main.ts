#!/usr/bin/env node
// The `sluice` command: finds the subcommand, and turns errors into words and exit codes.
//
//   0  done      2  a wrong option or an unreadable file, in words      1  a fault of ours
import { readFileSync } from "node:fs";
import { Failure } from "./failure.ts";
import type { Io } from "./io.ts";
import { replay } from "./replay.ts";

const COMMANDS: Record<string, (args: string[], io: Io) => Promise<void>> = { replay };

const HELP = `Usage: sluice <command> [options]

Commands:
  replay FILE... --policy POLICY   what a policy would have done to the traffic in access logs

  sluice <command> --help          the command's options
  sluice --version
`;

/** The package's version; package.json lies beside dist/, in a checkout and when installed. */
function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}

async function run([name, ...args]: string[], io: Io): Promise<void> {
  if (name === "--help" || name === "-h" || name === "help") io.stdout.write(HELP);
  else if (name === "--version" || name === "-v") io.stdout.write(`${version()}\n`);
  else if (name !== undefined && Object.hasOwn(COMMANDS, name)) await COMMANDS[name]?.(args, io);
  else
    throw new Failure(
      name === undefined ? `no command given\n\n${HELP.trimEnd()}` : `no command "${name}"; try --help`,
    );
}

// `sluice ... | head` closes the pipe early, which is no error of anyone's.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}

const { stdin, stdout, stderr } = process;
run(process.argv.slice(2), { stdin, stdout, stderr, now: Date.now }).catch((error) => {
  const known = error instanceof Failure;
  stderr.write(known ? `sluice: ${error.message}\n` : `sluice: internal error: ${error?.stack ?? error}\n`);
  process.exitCode = known ? 2 : 1;
});
