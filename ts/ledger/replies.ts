import { LimiterError, type LimiterErrorCode } from "../errors.ts";
import type { LedgerReply } from "./messages.ts";

/** The reply that carries an error to the holder, who may be in another process. */
export function errorReply(error: unknown): LedgerReply {
  const code =
    error instanceof RangeError
      ? "request"
      : error instanceof LimiterError && isTold(error.code)
        ? error.code
        : "storage";
  return { v: 1, outcomes: [], error: { code, message: error instanceof Error ? error.message : String(error) } };
}

function isTold(code: LimiterErrorCode): code is "protocol" | "closed" | "children_max" {
  return code === "protocol" || code === "closed" || code === "children_max";
}

/** The error in a reply, as the holder throws it; null: there is none. */
export function errorOf(reply: LedgerReply): Error | null {
  if (!reply.error) return null;
  const { code, message } = reply.error;
  return code === "request" ? new RangeError(message) : new LimiterError(code, message);
}
