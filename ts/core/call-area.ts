import { CALL_BYTES } from "./abi.ts";
import type { CoreExports } from "./exports.ts";

/** The memory that calls and their answers lie in, seen as what they are; places in it are in abi.ts. */
export class CallArea {
  readonly #core: CoreExports;
  bytes: Uint8Array = new Uint8Array();
  floats: Float64Array = new Float64Array();

  constructor(core: CoreExports) {
    this.#core = core;
  }

  /** To be called before a look: a memory that is not shared leaves empty views behind when it grows. */
  renew(): void {
    if (this.bytes.length > 0) return;
    const { memory, callAt } = this.#core;
    this.bytes = new Uint8Array(memory.buffer, callAt.value, CALL_BYTES);
    this.floats = new Float64Array(memory.buffer, callAt.value, CALL_BYTES / 8);
  }
}
