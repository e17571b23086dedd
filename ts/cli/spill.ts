// Sorted runs on disk, and how they become one again.
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { failureOf } from "./failure.ts";

/** Numbers of a stored request: time and id. */
const FIELDS = 2;
/** Shared by all runs while they are merged. */
const MERGE_BYTES_MAX = 32 * 1024 * 1024;
const READ_REQUESTS_MAX = 65_536;
const READ_REQUESTS_MIN = 256;

/** A temporary file of numbers, made at the first append. Its name is gone as soon as it is open. */
export class SpillFile {
  readonly #folder: string;
  #descriptor: number | undefined;
  #length = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Numbers in it. */
  get length(): number {
    return this.#length;
  }

  /** @throws {Failure} the folder can't be written to, or is full */
  append(numbers: Float64Array): void {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    try {
      this.#descriptor ??= openNameless(this.#folder);
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    } catch (error) {
      throw failureOf(`sorting needs room in ${this.#folder} (TMPDIR names another folder)`, error);
    }
    this.#length += numbers.length;
  }

  /** Fills `numbers` from number `start` on. */
  read(numbers: Float64Array, start: number): void {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    for (let done = 0; done < bytes.length; ) {
      const got = readSync(this.#descriptor as number, bytes, done, bytes.length - done, start * 8 + done);
      if (got === 0) throw new Error("the temporary file is shorter than what was written to it");
      done += got;
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function openNameless(folder: string): number {
  const path = join(folder, `sluice-${randomUUID()}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}

/** Reads a run from the file, a bufferful at a time. */
export class StoredRun {
  readonly #file: SpillFile;
  readonly #end: number;
  readonly #buffer: Float64Array;
  #next: number;
  #at = 0;
  #filled = 0;
  time = 0;
  id = 0;

  /**
   * @param start   the run's first number in the file
   * @param length  requests in it
   * @param runs    how many are merged, and so share the memory
   */
  constructor(file: SpillFile, start: number, length: number, runs: number) {
    const share = Math.floor(MERGE_BYTES_MAX / (FIELDS * 8) / runs);
    const requests = Math.min(length, READ_REQUESTS_MAX, Math.max(READ_REQUESTS_MIN, share));
    this.#file = file;
    this.#next = start;
    this.#end = start + FIELDS * length;
    this.#buffer = new Float64Array(FIELDS * requests);
  }

  /** Moves to the next request; false at the end. */
  advance(): boolean {
    if (this.#at === this.#filled) {
      this.#filled = Math.min(this.#buffer.length, this.#end - this.#next);
      if (this.#filled === 0) return false;
      this.#file.read(this.#buffer.subarray(0, this.#filled), this.#next);
      this.#next += this.#filled;
      this.#at = 0;
    }
    this.time = this.#buffer[this.#at++] as number;
    this.id = this.#buffer[this.#at++] as number;
    return true;
  }
}

/** Visits the requests of all runs by time; of equal times those of the earlier run first. */
export function merge(runs: StoredRun[], visit: (time: number, id: number) => void): void {
  const order = new Map(runs.map((run, index) => [run, index]));
  const before = (a: StoredRun, b: StoredRun) =>
    a.time < b.time || (a.time === b.time && (order.get(a) as number) < (order.get(b) as number));
  const heap = runs.filter((run) => run.advance());
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sift(heap, at, before);
  while (heap.length > 0) {
    const first = heap[0] as StoredRun;
    visit(first.time, first.id);
    if (!first.advance()) {
      const last = heap.pop() as StoredRun;
      if (heap.length === 0) return;
      heap[0] = last;
    }
    sift(heap, 0, before);
  }
}

/** Moves the run at `at` down a heap until none below it comes before it. */
function sift(heap: StoredRun[], at: number, before: (a: StoredRun, b: StoredRun) => boolean): void {
  const moved = heap[at] as StoredRun;
  for (;;) {
    let child = 2 * at + 1;
    if (child + 1 < heap.length && before(heap[child + 1] as StoredRun, heap[child] as StoredRun)) child++;
    if (child >= heap.length || !before(heap[child] as StoredRun, moved)) break;
    heap[at] = heap[child] as StoredRun;
    at = child;
  }
  heap[at] = moved;
}
