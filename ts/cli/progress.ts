import type { Io } from "./io.ts";

const EVERY_MS = 200;
const WIDTH_MAX = 79;
/** Back to the first column, and the line emptied. */
const LINE_START = "\r\x1b[K";

/** One line about long work that replaces itself. Says nothing where stderr is no terminal. */
export class Progress {
  readonly #io: Io;
  #shown = false;
  #nextMs: number;

  constructor(io: Io) {
    this.#io = io;
    // Work that is done in a moment shows no line at all.
    this.#nextMs = io.now() + EVERY_MS;
  }

  /** Shows `text()` if it is time to. */
  update(text: () => string): void {
    if (!this.#io.stderr.isTTY) return;
    const now = this.#io.now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + EVERY_MS;
    this.#io.stderr.write(`${LINE_START}${text().slice(0, WIDTH_MAX)}`);
    this.#shown = true;
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#shown) this.#io.stderr.write(LINE_START);
    this.#shown = false;
  }
}
