/** Keys that are remembered, and the longest that is: some hundred kB at most. */
const KEYS_MAX = 1000;
const LENGTH_MAX = 128;

/** What was made for the latest keys. Clients come in bursts; memory stays flat, whatever they send. */
export class Recent<V> {
  readonly #values = new Map<string, V>();

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  /** Remembers `value`, and returns it. */
  keep(key: string, value: V): V {
    if (this.#values.size === KEYS_MAX) this.#values.clear();
    if (key.length <= LENGTH_MAX) this.#values.set(key, value);
    return value;
  }
}
