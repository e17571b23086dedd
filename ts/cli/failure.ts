/** What the user can put right: a wrong option, an unreadable file, a full disk. Ends the command with status 2. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** A Failure about `what`, with the system's own reason in words. */
export function failureOf(what: string, error: unknown): Failure {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = (code && REASONS[code]) ?? message ?? String(error);
  return new Failure(`${what}: ${reason}`, { cause: error });
}

const REASONS: Record<string, string> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "is a folder, not a file",
  ENOTDIR: "no such file",
  ENOSPC: "no space left",
  Z_BUF_ERROR: "the gzip data ends too early",
  Z_DATA_ERROR: "the gzip data is damaged",
};
