const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BOM = Buffer.from("\ufeff");

/** The bytes start..end of a buffer that is only lent: it changes after the call. */
export type OnLine = (bytes: Buffer, start: number, end: number, number: number) => void;

/**
 * Cuts chunks of bytes into lines, without their LF or CRLF and without a byte order mark.
 *
 * Memory: what is kept between chunks is at most `lengthMax` bytes, however long a line is. Of
 * a longer line (its CR counts) only the beginning goes to `onTooLong`; the rest is passed over.
 */
export class LineSplitter {
  readonly #lengthMax: number;
  readonly #onLine: OnLine;
  readonly #onTooLong: OnLine;
  #number = 0;
  /** The line that the last chunk left unfinished, in pieces. */
  #pieces: Buffer[] = [];
  #kept = 0;
  #tooLong = false;

  constructor(lengthMax: number, onLine: OnLine, onTooLong: OnLine) {
    this.#lengthMax = lengthMax;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      if (this.#kept === 0) this.#emit(chunk, start, end);
      else {
        this.#keep(chunk, start, end);
        this.#emitKept();
      }
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk, start, chunk.length);
  }

  /** The last line may lack its end. */
  end(): void {
    if (this.#kept > 0) this.#emitKept();
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    const room = this.#lengthMax - this.#kept;
    if (end - start > room) this.#tooLong = true;
    const until = Math.min(end, start + room);
    if (until === start) return;
    this.#pieces.push(Buffer.from(chunk.subarray(start, until)));
    this.#kept += until - start;
  }

  #emitKept(): void {
    const line = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces, this.#kept);
    const tooLong = this.#tooLong;
    this.#pieces = [];
    this.#kept = 0;
    this.#tooLong = false;
    if (tooLong) this.#onTooLong(line, 0, line.length, ++this.#number);
    else this.#emit(line, 0, line.length);
  }

  #emit(bytes: Buffer, from: number, to: number): void {
    const number = ++this.#number;
    if (to - from > this.#lengthMax) {
      this.#onTooLong(bytes, from, from + this.#lengthMax, number);
      return;
    }
    const start = number === 1 && BOM.equals(bytes.subarray(from, from + BOM.length)) ? from + BOM.length : from;
    const end = to > start && bytes[to - 1] === RETURN ? to - 1 : to;
    this.#onLine(bytes, start, end, number);
  }
}
