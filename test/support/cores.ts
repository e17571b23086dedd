import { readFileSync } from "node:fs";
import { instantiateSync } from "@assemblyscript/loader";
import type { Policy } from "../../ts/contract.ts";
import type { CoreExports } from "../../ts/core/exports.ts";
import { withSharedMemory } from "../../ts/core/instantiate.ts";
import { Table, type TableOptions } from "../../ts/core/table.ts";

const bytes = (name: string) => new Uint8Array(readFileSync(new URL(`../../build/${name}`, import.meta.url)));
const release = bytes("core.wasm");
const debug = bytes("core.debug.wasm");

function plain(module: Uint8Array): CoreExports {
  return new WebAssembly.Instance(new WebAssembly.Module(module as BufferSource)).exports as unknown as CoreExports;
}

/** The ways in which the core runs somewhere, and the build that checks its own assertions. */
export const cores: Record<string, () => CoreExports> = {
  "shared memory": () => {
    const core = plain(withSharedMemory(release));
    core.growsCheaply();
    return core;
  },
  "memory of its own": () => plain(release),
  "debug build": () => instantiateSync(debug).exports as unknown as CoreExports,
};

/** Cores whose memory ends at so many pages of 64 KiB. */
const small: Record<string, number> = { "small memory": 32, "tiny memory": 8 };

function smallCore(pages: number): CoreExports {
  const module = release.slice();
  // The memory's most, 65,536 pages as LEB128, in a section of a count of one and its flags.
  const at = module.findIndex((_, index) =>
    [1, 1, 1, 0x80, 0x80, 4].every((byte, nth) => module[index + nth] === byte),
  );
  module.set([0x80 | pages, 0x80, 0], at + 3);
  return plain(module);
}

/** A table on one of the cores. */
export function openTable(name: string, policy: Policy, options: Partial<TableOptions> = {}): Table {
  const pages = small[name];
  const core = pages ? smallCore(pages) : (cores[name] as () => CoreExports)();
  const random = (bytes: Uint8Array) => void bytes.fill(7);
  return new Table(core, policy, { maxKeys: 1_000_000, whenFull: "deny-new", random, ...options });
}
