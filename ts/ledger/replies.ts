import { LimiterError } from "../errors.ts";
import type { LedgerReply } from "./messages.ts";

/** The reply that carries an error to the holder, who may be in another process. */
export function errorReply(error: unknown): LedgerReply {
  const code =
    error instanceof RangeError
      ? "request"
      : error instanceof LimiterError && (error.code === "protocol" || error.code === "closed")
        ? error.code
        : "storage";
  return { v: 1, outcomes: [], error: { code, message: error instanceof Error ? error.message : String(error) } };
}

/** The error in a reply, as the holder throws it; null: there is none. */
export function errorOf(reply: LedgerReply): Error | null {
  if (!reply.error) return null;
  const { code, message } = reply.error;
  return code === "request" ? new RangeError(message) : new LimiterError(code, message);
}
