import { requireInteger, requireKnown } from "../errors.ts";
import { type ExactDesign, type LinkedDesign, made } from "./design.ts";

export interface ExactOptions {
  /**
   * Keys whose refusals are remembered until they end, so that they cost no round trip; 10,000
   * unless given, 0 for none. What another limiter refunds or resets is not seen until then.
   */
  denialsMax?: number;
}

/**
 * Every decision is taken at the key's ledger.
 *
 * Safety: none above the limit, over any number of PoPs (`test/linear/history.test.ts`).
 * Loss: a PoP that cannot reach the ledger cannot decide, and does what onUnreachable says.
 * Cost: one round trip, shared by all calls on the key that come while another is under way.
 *
 * @throws {RangeError} an option is out of range or unknown
 */
export function exact(options: ExactOptions = {}): LinkedDesign {
  requireKnown("exact", options, ["denialsMax"]);
  const denialsMax = requireInteger("denialsMax", options.denialsMax ?? 10_000, 0, 10_000_000);
  return made<ExactDesign>({ kind: "exact", denialsMax });
}
