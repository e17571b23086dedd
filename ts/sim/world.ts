/** Numbers in 0..1 from a seed (mulberry32): the only randomness of a run. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Event {
  at: number;
  nth: number;
  run: (() => void) | null;
}

/**
 * Promise callbacks that may follow one from another before the next event.
 *
 * A longer chain would go on during the next event: a little unlike a real event loop, and the
 * same in every run, since nothing but microtasks is ever awaited.
 */
const MICROTASK_TURNS = 24;

/** Discrete events in the order of their true times; nothing happens between them. */
export class World {
  /** True time, ms. */
  now = 0;
  /** Events that have run. */
  events = 0;
  readonly random: () => number;
  readonly #heap: Event[] = [];
  #nth = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** Runs `run` after `ms`; the returned function cancels. */
  after(ms: number, run: () => void): () => void {
    const event: Event = { at: this.now + Math.max(ms, 0), nth: this.#nth++, run };
    this.#push(event);
    return () => {
      event.run = null;
    };
  }

  /** Lets time pass until `end`. */
  async runUntil(end: number): Promise<void> {
    for (let event = this.#heap[0]; event && event.at <= end; event = this.#heap[0]) {
      this.#pop();
      if (!event.run) continue;
      this.now = event.at;
      this.events++;
      event.run();
      for (let turn = 0; turn < MICROTASK_TURNS; turn++) await null;
    }
    this.now = end;
  }

  /** An integer in 0..most - 1. */
  pick(most: number): number {
    return Math.floor(this.random() * most);
  }

  /** A number with an exponential distribution. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.random());
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.nth < b.nth);
}
