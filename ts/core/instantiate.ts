import core from "sluice:core";
import type { CoreExports } from "./exports.ts";

const MEMORY_SECTION = 5;
const SHARED = 2;

let compiled: WebAssembly.Module | undefined;

/**
 * A fresh instance of the core, with a memory of its own.
 *
 * Compiled at the first call and not at import: Workers have the module from their bundle, the
 * others compile the inlined bytes, a few kB, in well under a millisecond.
 */
export function instantiate(): CoreExports {
  compiled ??= core instanceof WebAssembly.Module ? core : compile(core);
  const exports = new WebAssembly.Instance(compiled).exports as unknown as CoreExports;
  if (!(exports.memory.buffer instanceof ArrayBuffer)) exports.growsCheaply();
  return exports;
}

/**
 * Compiles with a shared memory where that is allowed. Nobody shares it: but V8 collects all
 * garbage each time that it grows a memory which is not shared.
 */
function compile(bytes: Uint8Array): WebAssembly.Module {
  try {
    const shared = new WebAssembly.Module(withSharedMemory(bytes) as BufferSource);
    new WebAssembly.Instance(shared);
    return shared;
  } catch {
    return new WebAssembly.Module(bytes as BufferSource);
  }
}

/** A copy of a module whose memory is shared: the same but for one bit. */
export function withSharedMemory(module: Uint8Array): Uint8Array {
  const bytes = module.slice();
  // A section is an id, its size as LEB128, and its content; the magic and the version are 8 bytes.
  let at = 8;
  while (bytes[at] !== MEMORY_SECTION) {
    let size = 0;
    let shift = 0;
    do {
      size |= ((bytes[++at] as number) & 0x7f) << shift;
      shift += 7;
    } while ((bytes[at] as number) > 0x7f);
    at += size + 1;
  }
  // Its size takes a byte, as it holds no more than a count of one, the memory's flags and two limits.
  (bytes[at + 3] as number) |= SHARED;
  return bytes;
}
