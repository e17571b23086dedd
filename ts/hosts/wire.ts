// What a ledger's server and its callers say over HTTP, version 1. docs/wire.md has it in full.
import type { LedgerReply, LedgerRequest } from "../ledger/messages.ts";

/** Requests to several ledgers, which one POST carries. */
export interface WireAsk {
  v: 1;
  asks: { address: string; request: LedgerRequest }[];
}

/** The ledgers' replies, in the order of the asks. */
export interface WireReply {
  v: 1;
  replies: LedgerReply[];
}

/** Largest body that a server reads, bytes. */
export const BODY_BYTES_MAX = 2 ** 20;
/** Asks in one POST at most. */
export const ASKS_MAX = 256;
/** Longest address, in UTF-16 code units: the limiter's name and the key together. */
export const ADDRESS_MAX = 4096;

const TOKEN = /^[\x21-\x7e]{16,1024}$/;
export const TOKEN_ALLOWED = "16..1024 visible ASCII characters";

export function isToken(token: unknown): token is string {
  return typeof token === "string" && TOKEN.test(token);
}
