// SHA-256 (FIPS 180-4) and HMAC (RFC 2104) without a promise. The platforms' own are
// asynchronous, or a module of one platform; a key of a few dozen bytes is hashed in about a
// microsecond here, and a request is decided without another turn of the event loop.

const BLOCK = 64;
const utf8 = new TextEncoder();

/** The first 32 bits of the fractional parts of the `count` first primes' roots. */
function rootsOfPrimes(count: number, root: (prime: number) => number): Int32Array {
  const words = new Int32Array(count);
  for (let found = 0, candidate = 2; found < count; candidate++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) prime &&= candidate % divisor !== 0;
    if (prime) words[found++] = ((root(candidate) % 1) * 2 ** 32) | 0;
  }
  return words;
}

const START = rootsOfPrimes(8, Math.sqrt);
const ROUND = rootsOfPrimes(64, Math.cbrt);
const schedule = new Int32Array(64);

/** Mixes the 64 bytes of `bytes` at `at` into `state`. */
function compress(state: Int32Array, bytes: Uint8Array, at: number): void {
  const w = schedule;
  for (let i = 0; i < 16; i++) {
    const from = at + 4 * i;
    w[i] =
      ((bytes[from] as number) << 24) |
      ((bytes[from + 1] as number) << 16) |
      ((bytes[from + 2] as number) << 8) |
      (bytes[from + 3] as number);
  }
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15] as number;
    const y = w[i - 2] as number;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = ((w[i - 16] as number) + s0 + (w[i - 7] as number) + s1) | 0;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUND[i] as number) + (w[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

/** Goes on from `start`, which has taken in `before` bytes (whole blocks), with `message`, to the end. */
function finish(start: Int32Array, before: number, message: Uint8Array): Uint8Array {
  const state = start.slice();
  const whole = message.length - (message.length % BLOCK);
  for (let at = 0; at < whole; at += BLOCK) compress(state, message, at);
  const rest = message.length - whole;
  const tail = new Uint8Array(rest < 56 ? BLOCK : 2 * BLOCK);
  tail.set(message.subarray(whole));
  tail[rest] = 0x80;
  const view = new DataView(tail.buffer);
  const bits = 8 * (before + message.length);
  view.setUint32(tail.length - 8, Math.floor(bits / 2 ** 32));
  view.setUint32(tail.length - 4, bits);
  for (let at = 0; at < tail.length; at += BLOCK) compress(state, tail, at);
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  for (let i = 0; i < 8; i++) out.setInt32(4 * i, state[i] as number);
  return digest;
}

const bytesOf = (message: string | Uint8Array) => (typeof message === "string" ? utf8.encode(message) : message);

/** The SHA-256 of a text in UTF-8, or of bytes. */
export function sha256(message: string | Uint8Array): Uint8Array {
  return finish(START, 0, bytesOf(message));
}

/** HMAC-SHA-256 under `secret`. Its two pads are hashed once, here. */
export function hmacSha256(secret: string | Uint8Array): (message: string | Uint8Array) => Uint8Array {
  const given = bytesOf(secret);
  const key = given.length > BLOCK ? sha256(given) : given;
  const padded = (fill: number) => {
    const pad = new Uint8Array(BLOCK).fill(fill);
    for (let i = 0; i < key.length; i++) pad[i] = (key[i] as number) ^ fill;
    const state = START.slice();
    compress(state, pad, 0);
    return state;
  };
  const inner = padded(0x36);
  const outer = padded(0x5c);
  return (message) => finish(outer, BLOCK, finish(inner, BLOCK, bytesOf(message)));
}
