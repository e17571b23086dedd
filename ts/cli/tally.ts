import { Failure } from "./failure.ts";

/** The most that a Map holds. */
const KEYS_MAX = 2 ** 24;

/** Counts of one key. */
export interface KeyCount {
  key: string;
  requests: number;
  denied: number;
}

/**
 * Names of keys as small numbers, and two counts for each.
 *
 * Memory: per key its text once, a place in a Map and 16 bytes of counts; docs/replay.md has
 * the sum, measured.
 */
export class Tally {
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [];
  #requests = new Float64Array(1024);
  #denied = new Float64Array(1024);

  /** The number of a key: 0 for the first one seen, and so on. @throws {Failure} too many keys */
  idOf(key: string): number {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#names.length;
    if (id === KEYS_MAX) throw new Failure(`the logs hold more than ${KEYS_MAX} different keys; give them in parts`);
    this.#ids.set(key, id);
    this.#names.push(key);
    if (id === this.#requests.length) {
      this.#requests = doubled(this.#requests);
      this.#denied = doubled(this.#denied);
    }
    return id;
  }

  nameOf(id: number): string {
    return this.#names[id] as string;
  }

  count(id: number, admitted: boolean): void {
    (this.#requests[id] as number)++;
    if (!admitted) (this.#denied[id] as number)++;
  }

  get keys(): number {
    return this.#names.length;
  }

  get keysDenied(): number {
    return this.#denied.reduce((sum, denied) => sum + (denied > 0 ? 1 : 0), 0);
  }

  /** The keys denied most: at most `limit`, and none that was never denied. */
  top(limit: number): KeyCount[] {
    const best: number[] = [];
    const before = (a: number, b: number) => this.#compare(a, b) < 0;
    for (let id = 0; id < this.#names.length; id++) {
      if (this.#denied[id] === 0) continue;
      if (best.length === limit && !(limit > 0 && before(id, best[limit - 1] as number))) continue;
      if (best.length === limit) best.pop();
      let at = best.length;
      while (at > 0 && before(id, best[at - 1] as number)) at--;
      best.splice(at, 0, id);
    }
    return best.map((id) => ({
      key: this.nameOf(id),
      requests: this.#requests[id] as number,
      denied: this.#denied[id] as number,
    }));
  }

  /** By denials, then by requests, most first; then by name, so that the order is no accident. */
  #compare(a: number, b: number): number {
    const denied = (this.#denied[b] as number) - (this.#denied[a] as number);
    const requests = (this.#requests[b] as number) - (this.#requests[a] as number);
    return denied || requests || (this.nameOf(a) < this.nameOf(b) ? -1 : 1);
  }
}

function doubled(values: Float64Array): Float64Array<ArrayBuffer> {
  const more = new Float64Array(2 * values.length);
  more.set(values);
  return more;
}
