// Real logs are out of order: servers write a line when its request ends, and shippers shuffle.
// How far nobody knows beforehand, so any window held in memory would be a guess that quietly
// changes the answer. This sort is exact for every disorder and size: runs are sorted in
// memory, go to a temporary file, and are merged from there.
import { endianness, tmpdir } from "node:os";
import { merge, SpillFile, StoredRun } from "./spill.ts";

/** Most requests in a run. */
export const RUN_MAX = 2 ** 22;
/** Places in a run, and what is left of 32 bits beside them. */
const PLACES = RUN_MAX;
const TIMES_PER_WORD = 2 ** 32 / PLACES;
/** Requests that are written at once. */
const WRITE_REQUESTS = 65_536;

export type Visit = (time: number, id: number) => void;

/**
 * Sorts (time, id) by time; equal times stay in the order in which they were added.
 *
 * Memory: 12 bytes × `runLength`, and 32 MiB while merging, whatever is added. Disk: 16 bytes a
 * request if there are more than one run of them, in a file that nobody else can open and that
 * is gone when the process is, however it ends (`test/cli/sorter.test.ts`).
 *
 * @param runLength  requests sorted in memory at once, 2..RUN_MAX
 * @param folder     for the temporary file
 */
export class TimeSorter {
  readonly #runLength: number;
  readonly #file: SpillFile;
  /** Time in the upper 42 bits, place in `#ids` in the lower 22: sorted as mere numbers. */
  readonly #packed: BigUint64Array;
  readonly #words: Uint32Array;
  readonly #low = endianness() === "LE" ? 0 : 1;
  readonly #ids: Uint32Array;
  #length = 0;
  #runs: { start: number; length: number }[] = [];

  constructor(runLength = RUN_MAX, folder = tmpdir()) {
    this.#runLength = runLength;
    this.#file = new SpillFile(folder);
    this.#packed = new BigUint64Array(runLength);
    this.#words = new Uint32Array(this.#packed.buffer);
    this.#ids = new Uint32Array(runLength);
  }

  /** Runs that went to disk. */
  get runsOnDisk(): number {
    return this.#runs.length;
  }

  /**
   * @param time  whole ms, 0 <= time < TIME_END_MS
   * @param id    0..2^32 - 1
   * @throws {Failure} the temporary file can't be written
   */
  add(time: number, id: number): void {
    if (this.#length === this.#runLength) this.#spill();
    const at = this.#length++;
    this.#words[2 * at + 1 - this.#low] = time / TIMES_PER_WORD;
    this.#words[2 * at + this.#low] = (time % TIMES_PER_WORD) * PLACES + at;
    this.#ids[at] = id;
  }

  /** Visits all that was added, in order of time. To be called once. @throws {Failure} as add */
  drain(visit: Visit): void {
    if (this.#runs.length === 0) {
      this.#sortRun(visit);
      return;
    }
    this.#spill();
    merge(
      this.#runs.map(({ start, length }) => new StoredRun(this.#file, start, length, this.#runs.length)),
      visit,
    );
  }

  /** Gives the temporary file back. */
  close(): void {
    this.#file.close();
  }

  #sortRun(visit: Visit): void {
    this.#packed.subarray(0, this.#length).sort();
    for (let i = 0; i < this.#length; i++) {
      const high = this.#words[2 * i + 1 - this.#low] as number;
      const low = this.#words[2 * i + this.#low] as number;
      visit(high * TIMES_PER_WORD + Math.floor(low / PLACES), this.#ids[low % PLACES] as number);
    }
  }

  #spill(): void {
    this.#runs.push({ start: this.#file.length, length: this.#length });
    const requests = new Float64Array(2 * Math.min(WRITE_REQUESTS, this.#length));
    let filled = 0;
    this.#sortRun((time, id) => {
      requests[filled++] = time;
      requests[filled++] = id;
      if (filled < requests.length) return;
      this.#file.append(requests);
      filled = 0;
    });
    this.#file.append(requests.subarray(0, filled));
    this.#length = 0;
  }
}
