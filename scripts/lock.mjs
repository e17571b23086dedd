import { createHash } from "node:crypto";
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Makes `folder`, and keeps it for this process until that ends; false if another process has it.
 *
 * Two runtimes on one folder would each keep the same budget. The lock is a socket that only its
 * owner answers, and so it ends with its owner, however that ends.
 */
export async function lock(folder) {
  mkdirSync(folder, { recursive: true });
  const name = `sluice-${createHash("sha256").update(realpathSync(folder)).digest("hex").slice(0, 16)}`;
  const path = process.platform === "win32" ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
  if (await listens(path)) return false;
  rmSync(path, { force: true });
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(path, () => resolve(true));
  });
}

function listens(path) {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket.destroy() !== null));
    socket.once("error", () => resolve(false));
  });
}
