// Keys as a limiter meets them. A key that comes from a request's header is a string that was
// made a moment ago: flat, and its hash not yet known to the engine.

const decoder = new TextDecoder();
const LENGTH = 24;

export const CHUNK = 8192;

/** Strings of 24 characters, each made for the one use. */
export function freshKeys(ids: ArrayLike<number>): string[] {
  const bytes = new Uint8Array(LENGTH);
  for (let index = 0; index < LENGTH; index++) bytes[index] = "key:live:000000000000000".charCodeAt(index);
  return Array.from(ids, (id) => {
    for (let at = LENGTH - 1, rest = id; at > 9; at--, rest = Math.floor(rest / 10)) bytes[at] = 48 + (rest % 10);
    return decoder.decode(bytes);
  });
}

/** Which keys a chunk of requests is for. */
export type Draw = (keys: number) => Float64Array;

export const uniform: Draw = (keys) => Float64Array.from({ length: CHUNK }, () => Math.floor(Math.random() * keys));

/** Zipf with exponent 1, by its continuous form: a few keys get most of the requests. */
export const zipf: Draw = (keys) => Float64Array.from({ length: CHUNK }, () => Math.floor(keys ** Math.random()) - 1);
