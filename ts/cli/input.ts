// Where log bytes come from: files and standard input, plain or gzip, whatever they are called.
import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Failure, failureOf } from "./failure.ts";

const CHUNK_BYTES = 256 * 1024;

export interface Source {
  name: string;
  /** As stored; null where only reading to the end tells. */
  bytes: number | null;
  open(): Readable;
}

/**
 * The sources that the arguments name; "-" is standard input. All are looked at before any is
 * read, so that a mistyped last name doesn't cost the time of the first ones.
 * @throws {Failure} one can't be read
 */
export async function sourcesOf(names: string[], stdin: Readable): Promise<Source[]> {
  if (names.filter((name) => name === "-").length > 1) throw new Failure('"-", standard input, can be read once only');
  return Promise.all(
    names.map(async (name) => {
      if (name === "-") return { name: "(standard input)", bytes: null, open: () => stdin };
      try {
        const found = await stat(name);
        if (found.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
        await access(name, constants.R_OK);
        const open = () => createReadStream(name, { highWaterMark: CHUNK_BYTES });
        return { name, bytes: found.isFile() ? found.size : null, open };
      } catch (error) {
        throw failureOf(name, error);
      }
    }),
  );
}

/**
 * The source's text, unzipped if it begins as gzip does (several members in a row are one text).
 *
 * @param onRead  told how many bytes, as stored, each read gave
 * @throws {Failure} reading failed, or the gzip data is damaged or ends too early
 */
export async function* textOf(source: Source, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  try {
    const stored = counted(source.open(), onRead);
    const head = await firstBytes(stored);
    const all = rejoined(head, stored);
    if (head[0] !== 0x1f || head[1] !== 0x8b) yield* all;
    // The callback is pipeline's due; whatever fails also comes out of the iteration.
    else yield* pipeline(Readable.from(all), createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
  } catch (error) {
    throw failureOf(source.name, error);
  }
}

async function* counted(stream: Readable, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    onRead(chunk.length);
    yield chunk;
  }
}

/** At least two bytes, unless there are no more: a pipe may hand them over one by one. */
async function firstBytes(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const { value, done } = await chunks.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  return head;
}

async function* rejoined(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
