import type { Ambient } from "../contract.ts";

/** How long rounds go on by themselves in Workers, which let a request work on for 30 s. */
const OUTLIVE_MS = 20_000;

export interface RoundsOptions {
  ambient: Pick<Ambient, "monotonic" | "schedule">;
  pauseMs: number;
  /** Does what is due. */
  work(now: number): void;
  /** Whether there is anything that work could ever be due for. */
  isNeeded(): boolean;
  /** Keeps a round going that would end with the request that began it. */
  outlive?: ((work: Promise<unknown>) => void) | undefined;
}

/**
 * Work that comes round every `pauseMs` while it is needed: whatever `keepUp` is called for is
 * worked on within two pauses from then, and again while it is there.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  /** When the next round must have been. */
  #by = Number.NEGATIVE_INFINITY;
  #cancel = () => {};

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  /**
   * To be called with each use. In Workers a timer dies with the request that it was set for, some
   * time after its answer: then the next use makes up for it.
   */
  keepUp(now: number): void {
    if (now > this.#by) this.#go(now, now);
  }

  stop(): void {
    this.#cancel();
  }

  /** @param since  when a use began the rounds: where they live on its request, that has an end */
  #go(now: number, since: number): void {
    const { ambient, pauseMs, work, isNeeded, outlive } = this.#options;
    work(now);
    const by = now + 2 * pauseMs;
    this.#by = by;
    this.#cancel();
    if (outlive && now - since > OUTLIVE_MS) {
      // The next use goes on with it, on a request of its own.
      this.#by = Number.NEGATIVE_INFINITY;
      return;
    }
    const next = new Promise<void>((resolve) => {
      const cancel = ambient.schedule(pauseMs, () => {
        resolve();
        if (this.#by !== by) return;
        if (isNeeded()) this.#go(ambient.monotonic(), since);
        else this.#by = Number.NEGATIVE_INFINITY;
      });
      this.#cancel = () => {
        cancel();
        resolve();
      };
    });
    outlive?.(next);
  }
}
