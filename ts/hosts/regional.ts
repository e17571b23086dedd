import type { ClosableLink } from "../designs/link.ts";
import { badOption, requireKnown } from "../errors.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import { TTL_MS_MAX } from "../ledger/leases.ts";
import type { Ledgers } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { TTL_MS_MIN } from "../link/lease-hold.ts";
import { Middle } from "../middle/middle.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import { ambient } from "./ambient.ts";

export interface RegionalOptions {
  /** The way to the ledgers that it leases from, such as remote(url). It stays yours to close. */
  home: Ledgers;
  /** How long it leases tokens for, 500 ms to 5 min; unless given 1 s, or as long as its holders' leases. */
  ttl?: Duration;
  /** Longest that a call waits for home; "500ms" unless given, less than the deadline of those who ask here. */
  deadline?: Duration;
}

/**
 * Middle ledgers in this process, as a link: they answer out of what they hold from home. Serve it
 * to a region with serveLedger(), or to others as one shard of sharded().
 *
 * @throws {RangeError} an option is missing, unknown or out of range
 */
export function regional(options: RegionalOptions): ClosableLink {
  requireKnown("regional", options, ["home", "ttl", "deadline"]);
  const { home, ttl } = options;
  if (typeof home?.ask !== "function") throw badOption("home", home, "a link, such as remote(url)");
  const ttlMs = ttl === undefined ? undefined : toMs("ttl", ttl, TTL_MS_MIN, TTL_MS_MAX);
  const middle = new Middle({ home, ambient, ttlMs, deadlineMs: toMs("deadline", options.deadline ?? "500ms") });
  return {
    ...overLedgers,
    durability: home.durability,
    middle: true,
    ask: (address, request) => middle.ask(address, request).catch(errorReply),
    close: () => middle.close(),
  };
}
