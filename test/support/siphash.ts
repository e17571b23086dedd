// SipHash-c-d by its definition, in BigInt: what the core's is compared with.

const WORD = (1n << 64n) - 1n;

function rotate(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (64n - bits))) & WORD;
}

function word(bytes: Uint8Array, at: number): bigint {
  let value = 0n;
  for (let nth = 7; nth >= 0; nth--) value = (value << 8n) | BigInt(bytes[at + nth] ?? 0);
  return value;
}

export function siphash(c: number, d: number, seed: Uint8Array, message: Uint8Array): bigint {
  const k0 = word(seed, 0);
  const k1 = word(seed, 8);
  let [v0, v1, v2, v3] = [
    k0 ^ 0x736f6d6570736575n,
    k1 ^ 0x646f72616e646f6dn,
    k0 ^ 0x6c7967656e657261n,
    k1 ^ 0x7465646279746573n,
  ];
  const rounds = (count: number) => {
    for (let round = 0; round < count; round++) {
      v0 = (v0 + v1) & WORD;
      v1 = rotate(v1, 13n) ^ v0;
      v0 = rotate(v0, 32n);
      v2 = (v2 + v3) & WORD;
      v3 = rotate(v3, 16n) ^ v2;
      v0 = (v0 + v3) & WORD;
      v3 = rotate(v3, 21n) ^ v0;
      v2 = (v2 + v1) & WORD;
      v1 = rotate(v1, 17n) ^ v2;
      v2 = rotate(v2, 32n);
    }
  };
  const padded = new Uint8Array((Math.floor(message.length / 8) + 1) * 8);
  padded.set(message);
  padded[padded.length - 1] = message.length & 255;
  for (let at = 0; at < padded.length; at += 8) {
    v3 ^= word(padded, at);
    rounds(c);
    v0 ^= word(padded, at);
  }
  v2 ^= 0xffn;
  rounds(d);
  return v0 ^ v1 ^ v2 ^ v3;
}
