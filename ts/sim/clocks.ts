import type { Ambient, Clock } from "../contract.ts";
import type { World } from "./world.ts";

/** What a machine's clock shows when the true time is zero, epoch ms. */
export const EPOCH_MS = 1_700_000_000_000;

/** How a clock differs from the true time. */
export interface ClockFault {
  /** Relative error of its speed: 0.01 gains 10 ms a second. */
  drift: number;
  /** What it shows too much, ms. */
  offsetMs: number;
}

/** One machine: its clock, its timers, its randomness. They end with its life. */
export class Machine implements Ambient {
  /** Set when the machine is killed: nothing that it waited for happens. */
  dead = false;
  /** Timers that came while it was frozen; null: it isn't. */
  #frozen: (() => void)[] | null = null;
  readonly #world: World;
  readonly #fault: ClockFault;
  readonly #bootedAt: number;

  constructor(world: World, fault: ClockFault) {
    this.#world = world;
    this.#fault = fault;
    this.#bootedAt = world.random() * 1e6;
  }

  /** The time of day, which is set now and then. */
  now = () => EPOCH_MS + this.#world.now * (1 + this.#fault.drift) + this.#fault.offsetMs;

  monotonic = () => this.#bootedAt + this.#world.now * (1 + this.#fault.drift);

  schedule = (ms: number, callback: () => void) => {
    let cancelled = false;
    const fire = () => {
      if (this.#frozen) this.#frozen.push(fire);
      else if (!this.dead && !cancelled) callback();
    };
    this.#world.after(ms / (1 + this.#fault.drift), fire);
    return () => {
      cancelled = true;
    };
  };

  random = (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.#world.pick(256);
  };

  /** It stands still, as an isolate does between requests; its clocks go on. */
  freeze(): void {
    this.#frozen ??= [];
  }

  /** It goes on, with what wakes it first, and comes to its timers when it has caught up. */
  thaw(): void {
    const late = this.#frozen ?? [];
    this.#frozen = null;
    for (const timer of late) this.#world.after(this.#world.exponential(100), timer);
  }

  /** Someone sets the time of day. */
  step(ms: number): void {
    this.#fault.offsetMs += ms;
  }
}

/** A clock for tests. */
export interface FakeClock extends Clock {
  /** Moves it on by `ms`. */
  advance(ms: number): void;
  /** Sets it, also back, to epoch ms. */
  set(time: number): void;
}

/** A clock that stands still until it is moved. */
export function fakeClock(start: number = EPOCH_MS): FakeClock {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
    set(time) {
      now = time;
    },
  };
}
