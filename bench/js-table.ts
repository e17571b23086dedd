// The strongest key table in plain JavaScript that we could write, to see what WASM is worth:
// open addressing over typed arrays, entries of 16 bytes in one buffer (so that a decision
// touches one cache line), the same arithmetic and the same rule that a full bucket's place is
// free. Its hash is seeded and quick, but unlike SipHash no match for an attacker.

const ENTRY_WORDS = 4;

export class JsTable {
  readonly #p: number;
  readonly #q: number;
  readonly #full: number;
  readonly #epoch = Date.now();
  readonly #seed = (Math.random() * 2 ** 32) | 0;
  #mask = 1023;
  #used = 0;
  /** Words of an entry: the fingerprint's two, and the two of its TAT, which is `tats[2 * slot + 1]`. */
  #words = new Int32Array(1024 * ENTRY_WORDS);
  #tats = new Float64Array(this.#words.buffer);
  #low = 0;
  #high = 0;

  constructor(constants: readonly number[]) {
    [this.#p, this.#q, this.#full] = constants as [number, number, number];
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  allow(key: string): boolean {
    let low = this.#seed;
    let high = this.#seed ^ 0x5bd1e995;
    for (let index = 0; index < key.length; index++) {
      const char = key.charCodeAt(index);
      low = Math.imul(low ^ char, 0x85ebca6b);
      high = Math.imul(high ^ char, 0x27d4eb2f);
      high ^= low >>> 15;
    }
    this.#finish(low ^ key.length, high);
    return this.#take();
  }

  allowInteger(key: number): boolean {
    const rest = (key / 2 ** 32) | 0;
    this.#finish(
      Math.imul(key ^ this.#seed, 0x85ebca6b),
      Math.imul(rest ^ this.#seed ^ (key >>> 15), 0x27d4eb2f) ^ key,
    );
    return this.#take();
  }

  #finish(low: number, high: number): void {
    low = Math.imul(low ^ (low >>> 16), 0x85ebca6b);
    low = Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
    high = Math.imul(high ^ (high >>> 16), 0x85ebca6b);
    high = Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
    this.#low = low ^ (low >>> 16) ^ high || 1;
    this.#high = high ^ (high >>> 16);
  }

  #take(): boolean {
    const now = (Date.now() - this.#epoch) * this.#p;
    const slot = this.#slotOf(now);
    const stored = this.#tats[2 * slot + 1] as number;
    const tat = Math.min(Math.max(stored, now), now + this.#full) + this.#q;
    if (tat - now > this.#full) return false;
    this.#tats[2 * slot + 1] = tat;
    return true;
  }

  #slotOf(now: number): number {
    const words = this.#words;
    let free = -1;
    let slot = this.#low & this.#mask;
    for (;;) {
      const low = words[ENTRY_WORDS * slot];
      if (low === this.#low && words[ENTRY_WORDS * slot + 1] === this.#high) return slot;
      if (low === 0) break;
      if (free < 0 && (this.#tats[2 * slot + 1] as number) <= now) free = slot;
      slot = (slot + 1) & this.#mask;
    }
    if (free < 0) {
      if (++this.#used > 0.75 * this.#mask) {
        this.#double(now);
        return this.#slotOf(now);
      }
      free = slot;
    }
    words[ENTRY_WORDS * free] = this.#low;
    words[ENTRY_WORDS * free + 1] = this.#high;
    this.#tats[2 * free + 1] = 0;
    return free;
  }

  #double(now: number): void {
    const words = this.#words;
    const tats = this.#tats;
    this.#mask = 2 * this.#mask + 1;
    this.#words = new Int32Array((this.#mask + 1) * ENTRY_WORDS);
    this.#tats = new Float64Array(this.#words.buffer);
    this.#used = 0;
    for (let slot = 0; slot < tats.length / 2; slot++) {
      if ((tats[2 * slot + 1] as number) <= now) continue;
      let at = (words[ENTRY_WORDS * slot] as number) & this.#mask;
      while (this.#words[ENTRY_WORDS * at] !== 0) at = (at + 1) & this.#mask;
      this.#words[ENTRY_WORDS * at] = words[ENTRY_WORDS * slot] as number;
      this.#words[ENTRY_WORDS * at + 1] = words[ENTRY_WORDS * slot + 1] as number;
      this.#tats[2 * at + 1] = tats[2 * slot + 1] as number;
      this.#used += 1;
    }
  }
}
