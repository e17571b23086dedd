import type { Ambient } from "../contract.ts";

/** A holder's id: 128 random bits, so that none is ever used twice. */
export function holderId(ambient: Pick<Ambient, "random">): string {
  const bytes = new Uint8Array(16);
  ambient.random(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
