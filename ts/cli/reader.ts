import { type Source, textOf } from "./input.ts";
import { LineSplitter } from "./lines.ts";
import { type Fields, type Request, readRequest } from "./records.ts";

/** Longer lines are no access log's; one is skipped, so that it can't take all memory. */
export const LINE_BYTES_MAX = 1024 * 1024;
const EXAMPLES = 3;
const EXCERPT_BYTES = 60;

/** A line that couldn't be read. */
export interface Unread {
  /** "access.log:17" */
  where: string;
  why: string;
  excerpt: string;
}

/** What reading found besides the requests. */
export interface ReadCounts {
  lines: number;
  requests: number;
  skipped: number;
  /** Requests earlier than the latest time before them in the same source. */
  outOfOrder: number;
  /** The first few of the skipped lines. */
  unread: Unread[];
}

/** Reads sources line by line. Memory: a chunk and a line, whatever they hold. */
export class LogReader {
  readonly counts: ReadCounts = { lines: 0, requests: 0, skipped: 0, outOfOrder: 0, unread: [] };
  readonly #fields: Fields;
  readonly #onRequest: (request: Request) => void;

  constructor(fields: Fields, onRequest: (request: Request) => void) {
    this.#fields = fields;
    this.#onRequest = onRequest;
  }

  /**
   * @param onRead  told after each read how many bytes, as stored, it gave
   * @throws {Failure} the source can't be read to its end
   */
  async read(source: Source, onRead: (bytes: number) => void): Promise<void> {
    const { counts } = this;
    let latest = 0;
    const splitter = new LineSplitter(
      LINE_BYTES_MAX,
      (bytes, start, end, number) => {
        counts.lines++;
        const request = readRequest(bytes, start, end, this.#fields);
        if (request === null) return;
        if (typeof request === "string") return this.#skip(source, number, request, bytes.subarray(start, end));
        counts.requests++;
        if (request.time < latest) counts.outOfOrder++;
        else latest = request.time;
        this.#onRequest(request);
      },
      (bytes, start, end, number) => {
        counts.lines++;
        this.#skip(source, number, `longer than ${LINE_BYTES_MAX} bytes`, bytes.subarray(start, end));
      },
    );
    for await (const chunk of textOf(source, onRead)) splitter.push(chunk);
    splitter.end();
  }

  #skip(source: Source, number: number, why: string, line: Buffer): void {
    this.counts.skipped++;
    if (this.counts.unread.length === EXAMPLES) return;
    const excerpt = line.toString("utf8", 0, EXCERPT_BYTES) + (line.length > EXCERPT_BYTES ? "..." : "");
    this.counts.unread.push({ where: `${source.name}:${number}`, why, excerpt });
  }
}
