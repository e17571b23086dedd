import type { Ambient } from "../../ts/contract.ts";

export { seededRandom as seeded } from "../../ts/sim/world.ts";

/** A platform whose time passes when it is told to, and whose timers fire in order. */
export class FakeAmbient implements Ambient {
  #now: number;
  #random: () => number;
  #timers: { at: number; nth: number; callback: () => void }[] = [];
  #nth = 0;

  constructor(start = 0, random: () => number = () => 0.5) {
    this.#now = start;
    this.#random = random;
  }

  now = () => this.#now;
  monotonic = () => this.#now;
  random = (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(this.#random() * 256);
  };

  schedule = (ms: number, callback: () => void) => {
    const timer = { at: this.#now + ms, nth: this.#nth++, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };

  get waiting(): number {
    return this.#timers.length;
  }

  /** Lets `ms` pass: every timer due fires at its time, with all promises settled in between. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.nth - b.nth)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
      await settle();
    }
    this.#now = end;
  }
}

/** Runs all promise callbacks that are due, and theirs. */
export function settle(): Promise<void> {
  return new Promise((resolve) => soon(resolve));
}

/** Browsers have no setImmediate; there a message comes as soon. */
const soon: (callback: () => void) => void =
  globalThis.setImmediate ??
  ((callback) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      callback();
    };
    port2.postMessage(null);
  });
