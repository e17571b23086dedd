import type { Ambient, Policy } from "../contract.ts";
import type { CoreExports } from "../core/exports.ts";
import { type KeyTable, keyBytesMost, keysMost, Table, WHEN_FULL, type WhenFull } from "../core/table.ts";
import { badOption, requireInteger, requireKnown, requireOneOf } from "../errors.ts";
import { type LocalDesign, made } from "./design.ts";
import { JointTable } from "./local-joint.ts";

const MAX_KEYS_DEFAULT = 1_000_000;
const BYTES_DEFAULT = 64 * 2 ** 20;

export interface LocalOptions {
  /**
   * Keys remembered at most. A key is remembered while its budget is not whole. Unless given:
   * a million, or as many as are sure to fit into 64 MiB if those are fewer.
   */
  maxKeys?: number;
  /**
   * What becomes of a new key while all places are taken; deny-new unless given.
   *
   * - `"deny-new"`: it is denied. Never above the limit; an attacker with many keys can shut
   *   out new ones.
   * - `"allow-new"`: it is admitted and not remembered. New keys are not limited.
   * - `"evict-fullest"`: one that has used least is forgotten for it. What that one had used can
   *   be taken again.
   *
   * A place is free again when its key's budget is whole. Free places are looked for where the
   * key belongs, and in the next of a round through the table, a page of up to 256 places a call;
   * the one to forget is the fullest of that page. limiter.stats() counts each case.
   */
  whenFull?: WhenFull;
}

/**
 * One process decides alone, at once and without a promise.
 *
 * Safety: never above the limit within this process, unless `whenFull` says otherwise.
 * Loss: whatever other processes admit.
 * Memory: about 23 bytes a key for a token bucket, at most 27; 36 and 40 for a fixed window; for
 * a sliding window as much, and 24 + 16 for each run that it may need (policy.stateCells).
 *
 * @throws {RangeError} an option is out of range or unknown
 */
export function local(options: LocalOptions = {}): LocalDesign {
  requireKnown("local", options, ["maxKeys", "whenFull"]);
  const { maxKeys, whenFull = "deny-new" } = options;
  if (maxKeys !== undefined) requireInteger("maxKeys", maxKeys);
  requireOneOf("whenFull", whenFull, Object.keys(WHEN_FULL) as WhenFull[]);
  return made<LocalDesign>({ kind: "local", maxKeys, whenFull });
}

/**
 * What opens the keys' table: one for each policy.
 * @throws {RangeError} so many keys don't fit into a table of one of the policies
 */
export function opensTable(
  { maxKeys, whenFull }: LocalDesign,
  policies: readonly Policy[],
  { random }: Ambient,
  instantiate: () => CoreExports,
): () => KeyTable {
  const most = policies.map((policy) => maxKeysFor(policy, maxKeys));
  return () => {
    const tables = policies.map(
      (policy, nth) => new Table(instantiate(), policy, { maxKeys: most[nth] as number, whenFull, random }),
    );
    return tables.length > 1 ? new JointTable(policies, tables) : (tables[0] as Table);
  };
}

function maxKeysFor(policy: Policy, wanted: number | undefined): number {
  const most = keysMost(policy);
  if (wanted === undefined) return Math.min(MAX_KEYS_DEFAULT, Math.floor(BYTES_DEFAULT / keyBytesMost(policy)));
  if (wanted > most) throw badOption("maxKeys", wanted, `at most ${most} under this policy: tables end at 4 GiB`);
  return wanted;
}
