import { badOption, requireInteger, requireKnown } from "../errors.ts";
import type { Ledgers } from "../ledger/messages.ts";
import { ledgerHandler } from "./ledger-handler.ts";

export interface ServeOptions {
  /** The ledgers to serve, such as embedded(). It stays yours to close. */
  link: Ledgers;
  /** Any free one unless given. */
  port?: number;
  /** The address to listen on; "127.0.0.1" unless given: only this machine. */
  host?: string;
  /** What callers must show, at least 16 visible ASCII characters. Needed unless only this machine can call. */
  token?: string;
}

/** A server of ledgers that is listening. */
export interface LedgerServer {
  readonly port: number;
  /** Stops listening and drops the connections. */
  close(): Promise<void>;
}

const LOOPBACK = ["127.0.0.1", "::1", "localhost"];
/** How long a connection may stay unused: a caller that asks twice a minute keeps it. */
const IDLE_MS = 65_000;

/**
 * What every runtime's serveLedger has in common.
 * @throws {RangeError} an option is out of range, or others could call and there is no token
 */
export function serving(options: ServeOptions) {
  requireKnown("serveLedger", options, ["link", "port", "host", "token"]);
  const { link, host = "127.0.0.1", token } = options;
  if (typeof host !== "string" || host === "") throw badOption("host", host, "an address to listen on");
  if (token === undefined && !LOOPBACK.includes(host)) {
    throw badOption("token", token, `given, since others can reach ${host}; only ${LOOPBACK.join(", ")} go without`);
  }
  const port = requireInteger("port", options.port ?? 0, 0, 65_535);
  return { port, host, idleMs: IDLE_MS, handle: ledgerHandler({ link, token: token ?? null }) };
}
