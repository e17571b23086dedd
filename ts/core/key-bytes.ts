import type { Ambient, LocalKey } from "../contract.ts";
import { badOption } from "../errors.ts";
import { encodeParts, encodeString } from "../key.ts";
import { BINARY, INTEGER, KEY, KEY_BYTES_MAX, LATIN1, UTF16 } from "./abi.ts";
import { CallArea } from "./call-area.ts";
import type { CoreExports } from "./exports.ts";

/** The form of a key for which a batch has no room left. */
export const NO_ROOM = -1;

/** Bytes of a binary key: an IPv6 address, a UUID, half a SHA-256. */
export const BINARY_BYTES = 16;

/** Throws a RangeError if `key` is none. */
export function checkKey(key: LocalKey): void {
  if (typeof key === "string") {
    if (key.length === 0) encodeString(key);
  } else if (typeof key === "number") checkInteger(key);
  else if (key instanceof Uint8Array) checkBinary(key);
  else encodeParts(key);
}

function checkInteger(key: number): void {
  if (!Number.isSafeInteger(key)) throw badOption("key", key, "a safe integer");
}

function checkBinary(key: Uint8Array): void {
  if (key.length !== BINARY_BYTES) throw badOption("key.length", key.length, `${BINARY_BYTES} bytes`);
}

/**
 * Brings keys into WASM, the only place that knows how.
 *
 * What is hashed is the same on every platform: a string's characters as one byte each if all
 * are below 256, else as two; hence a lone surrogate is itself and not U+FFFD. A number's f64,
 * a binary key's 16 bytes. The core adds a tag that keeps the four apart.
 *
 * A loop over charCodeAt, since TextEncoder.encodeInto takes no shared memory, maps all lone
 * surrogates to one, and costs more than the loop at the length of a usual key (bench/RESULTS.md).
 */
export class KeyBytes {
  readonly #core: CoreExports;
  readonly #area: CallArea;

  /** @param area  of the core */
  constructor(core: CoreExports, area = new CallArea(core)) {
    this.#core = core;
    this.#area = area;
  }

  /** Seeds the hash of all keys. */
  seed(random: Ambient["random"]): void {
    const seed = new Uint8Array(16);
    random(seed);
    this.#area.renew();
    this.#area.bytes.set(seed, KEY);
    this.#core.seedKeys();
  }

  /**
   * Writes a key and returns its form: its bytes × 4 + its tag.
   *
   * The type of a key is asked here, once: where a function asks twice and reads the string's
   * length both times, V8 of Node 20 may read that of a number first, and the process dies.
   *
   * @param offset  bytes behind the beginning, with room for BINARY_BYTES; if it is not zero, there may be
   *                NO_ROOM for a string
   * @throws {RangeError} it is no key
   */
  write(key: LocalKey, offset = 0): number {
    this.#area.renew();
    if (typeof key === "string") return this.#writeString(key, offset);
    if (typeof key === "number") {
      checkInteger(key);
      // Adding zero makes one key of 0 and -0.
      this.#area.floats[(KEY + offset) >>> 3] = key + 0;
      return (8 << 2) | INTEGER;
    }
    if (key instanceof Uint8Array) {
      checkBinary(key);
      this.#area.bytes.set(key, KEY + offset);
      return (BINARY_BYTES << 2) | BINARY;
    }
    return this.#writeLong(encodeParts(key), offset);
  }

  #writeString(key: string, offset: number): number {
    const length = key.length;
    if (length <= KEY_BYTES_MAX - offset) {
      const { bytes } = this.#area;
      const at = KEY + offset;
      let all = 0;
      for (let index = 0; index < length; index++) {
        const char = key.charCodeAt(index);
        all |= char;
        bytes[at + index] = char;
      }
      // What begins with a zero must not look like an array.
      if (all < 256 && length > 0 && bytes[at] !== 0) return (length << 2) | LATIN1;
    }
    return this.#writeLong(encodeString(key), offset);
  }

  /** A string that is wide, or longer than the room: all but its last part are hashed on the way. */
  #writeLong(key: string, offset: number): number {
    if (offset > 0 && offset + 2 * key.length > KEY_BYTES_MAX) return NO_ROOM;
    let all = 0;
    for (let index = 0; index < key.length; index++) all |= key.charCodeAt(index);
    const wide = all > 255;
    const step = wide ? KEY_BYTES_MAX / 2 : KEY_BYTES_MAX;
    let start = 0;
    for (; key.length - start > step; start += step) {
      this.#writePart(key, start, start + step, wide, 0);
      this.#core.absorbKey();
    }
    const length = this.#writePart(key, start, key.length, wide, offset);
    return (length << 2) | (wide ? UTF16 : LATIN1);
  }

  #writePart(key: string, start: number, end: number, wide: boolean, offset: number): number {
    const { bytes } = this.#area;
    let at = KEY + offset;
    for (let index = start; index < end; index++) {
      const char = key.charCodeAt(index);
      bytes[at++] = char;
      if (wide) bytes[at++] = char >> 8;
    }
    return at - KEY - offset;
  }
}
