import type { LocalKey } from "../contract.ts";
import type { CoreExports } from "./exports.ts";
import { KeyBytes } from "./key-bytes.ts";

/**
 * Which shard a key belongs to, the same in every process.
 *
 * Adding a shard moves one key in `shards` + 1, all of them to the new one.
 */
export class Shards {
  readonly #core: CoreExports;
  readonly #keys: KeyBytes;

  /** @param core  a fresh instance; its keys must not be seeded, or all processes must share the seed */
  constructor(core: CoreExports) {
    this.#core = core;
    this.#keys = new KeyBytes(core);
  }

  /** The shard of `key`, 0..shards - 1. */
  of(key: LocalKey, shards: number): number {
    return this.#core.shardOfKey(this.#keys.write(key), shards);
  }
}
