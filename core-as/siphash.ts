// SipHash-1-3 with a 128-bit seed: keys come from attackers, who must not be able to choose
// ones that meet in one place.
//
// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).

let seed0: u64 = 0;
let seed1: u64 = 0;
// The state that the next message starts from: the seed's, unless some of it was absorbed.
let start0: u64 = 0;
let start1: u64 = 0;
let start2: u64 = 0;
let start3: u64 = 0;
let absorbed: bool = false;
restart();

/** Takes the seed, 16 bytes at `at`. */
export function seedHash(at: usize): void {
  seed0 = load<u64>(at);
  seed1 = load<u64>(at, 8);
  restart();
}

function restart(): void {
  start0 = seed0 ^ 0x736f6d6570736575;
  start1 = seed1 ^ 0x646f72616e646f6d;
  start2 = seed0 ^ 0x6c7967656e657261;
  start3 = seed1 ^ 0x7465646279746573;
  absorbed = false;
}

/** The hash of the `bytes` at `at`, behind what was absorbed. Writes up to 7 bytes behind them. */
export function siphash(at: usize, bytes: u32): u64 {
  const last = at + (bytes & ~7);
  const kept = (<u64>(bytes & 7)) << 3;
  store<u64>(last, (load<u64>(last) & (((<u64>1) << kept) - 1)) | ((<u64>bytes) << 56));
  const hash = compress(at, last + 8, false);
  if (absorbed) restart();
  return hash;
}

/** Hashes the first part of a long message. */
export function absorb(at: usize, bytes: u32): void {
  assert((bytes & 255) == 0, "the hash ends with the low byte of the whole length");
  absorbed = true;
  compress(at, at + bytes, true);
}

/** Takes the words in from..to; then keeps the state, or finalizes it if there are no more. */
// The round is written twice, since AssemblyScript has no way to share it that costs nothing.
function compress(from: usize, to: usize, more: bool): u64 {
  let v0 = start0;
  let v1 = start1;
  let v2 = start2;
  let v3 = start3;
  for (let at = from; at < to; at += 8) {
    const word = load<u64>(at);
    v3 ^= word;
    v0 += v1;
    v2 += v3;
    v1 = rotl(v1, 13) ^ v0;
    v3 = rotl(v3, 16) ^ v2;
    v0 = rotl(v0, 32) + v3;
    v2 += v1;
    v3 = rotl(v3, 21) ^ v0;
    v1 = rotl(v1, 17) ^ v2;
    v2 = rotl(v2, 32);
    v0 ^= word;
  }
  if (more) {
    start0 = v0;
    start1 = v1;
    start2 = v2;
    start3 = v3;
    return 0;
  }
  v2 ^= 0xff;
  for (let round = 0; round < 3; round++) {
    v0 += v1;
    v2 += v3;
    v1 = rotl(v1, 13) ^ v0;
    v3 = rotl(v3, 16) ^ v2;
    v0 = rotl(v0, 32) + v3;
    v2 += v1;
    v3 = rotl(v3, 21) ^ v0;
    v1 = rotl(v1, 17) ^ v2;
    v2 = rotl(v2, 32);
  }
  return v0 ^ v1 ^ v2 ^ v3;
}
