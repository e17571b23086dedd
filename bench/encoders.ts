// The ways in which a string's bytes can reach WASM's memory. What is chosen is in
// ts/core/key-bytes.ts: the loop, which is the fastest or nearly so everywhere. The others are not
// even equal to it: encodeInto takes no shared memory and makes one of all lone surrogates,
// latin1Write makes one of all characters with the same low byte.

import core from "sluice:core";
import { instantiateSync } from "@assemblyscript/loader";
import { KEY } from "../ts/core/abi.ts";
import type { CoreExports } from "../ts/core/exports.ts";
import { freshKeys } from "./workload.ts";

/** Where the core reads keys. Through the loader, which the shipped module is too small for. */
function coreMemory(): Uint8Array<ArrayBuffer> {
  const module = core instanceof WebAssembly.Module ? core : new WebAssembly.Module(core as BufferSource);
  const exports = instantiateSync(module, {}).exports as unknown as CoreExports;
  return new Uint8Array(exports.memory.buffer as ArrayBuffer, exports.callAt.value + KEY, 64);
}

interface NodeBuffer {
  latin1Write?(text: string, offset: number): number;
  utf8Write?(text: string, offset: number): number;
}

/** Each writes a key of 24 characters. */
export function encoders(): Record<string, (key: string) => number> {
  const own = coreMemory();
  const encoder = new TextEncoder();
  const { Buffer } = globalThis as {
    Buffer?: { from(memory: ArrayBuffer, offset: number, length: number): NodeBuffer };
  };
  const buffer = Buffer?.from(own.buffer, own.byteOffset, own.length);
  return {
    "charCodeAt, one by one": (key) => {
      let all = 0;
      for (let index = 0; index < key.length; index++) {
        const char = key.charCodeAt(index);
        all |= char;
        own[index] = char;
      }
      return all;
    },
    "TextEncoder.encodeInto": (key) => encoder.encodeInto(key, own).written,
    ...(buffer?.latin1Write && { "Buffer.latin1Write": (key: string) => buffer.latin1Write?.(key, 0) ?? 0 }),
    ...(buffer?.utf8Write && { "Buffer.utf8Write": (key: string) => buffer.utf8Write?.(key, 0) ?? 0 }),
  };
}

/** Median ns a key. */
export function measureEncoders(samples: number): Record<string, number> {
  const ids = Array.from({ length: 4096 }, (_, id) => id);
  return Object.fromEntries(
    Object.entries(encoders()).map(([name, encode]) => {
      const times: number[] = [];
      for (let sample = -5; sample < samples; sample++) {
        const keys = freshKeys(ids);
        const start = performance.now();
        for (let nth = 0; nth < keys.length; nth++) encode(keys[nth] as string);
        if (sample >= 0) times.push(((performance.now() - start) * 1e6) / keys.length);
      }
      return [name, times.sort((a, b) => a - b)[samples >> 1] as number];
    }),
  );
}
