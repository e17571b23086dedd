import core from "sluice:core";
import type { CoreExports } from "./exports.ts";

let compiled: WebAssembly.Module | undefined;

/**
 * A fresh instance of the core, with a memory of its own.
 *
 * Compiled at the first call and not at import: Workers have the module from their bundle, the
 * others compile the inlined bytes, a few kB, in well under a millisecond.
 */
export function instantiate(): CoreExports {
  compiled ??= core instanceof WebAssembly.Module ? core : new WebAssembly.Module(core as BufferSource);
  return new WebAssembly.Instance(compiled).exports as unknown as CoreExports;
}
