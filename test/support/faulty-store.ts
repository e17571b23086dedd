import type { HolderState, LedgerState } from "../../ts/ledger/state.ts";
import type { KeyChange, LedgerStore } from "../../ts/ledger/store.ts";

/** What is on a disk: outlives the process that wrote it. */
export type Disk = Map<
  string,
  { state: LedgerState | null; wholeAt: number | null; holders: Map<string, HolderState> }
>;

/**
 * A store on `disk` that fails and stalls as it is told to.
 *
 * @param fate  of the next write: "stored", "lost" (an error, and nothing stored), or "doubtful"
 *              (an error, though it was stored); a number delays it by so many ms
 */
export function faultyStore(
  disk: Disk,
  fate: () => { end: "stored" | "lost" | "doubtful"; afterMs: number },
  schedule: (ms: number, callback: () => void) => void,
  isAlive: () => boolean,
): LedgerStore {
  const apply = (changes: string) => {
    for (const { address, state, wholeAt, holders } of JSON.parse(changes) as KeyChange[]) {
      const known = disk.get(address)?.holders ?? new Map<string, HolderState>();
      for (const [id, holder] of holders) known.set(id, holder);
      disk.set(address, { state, wholeAt, holders: known });
    }
  };
  const finish = (changes: string, end: "stored" | "lost" | "doubtful") => {
    if (end !== "lost") apply(changes);
    if (end !== "stored") throw new Error("disk full");
  };
  return {
    read(address) {
      const key = disk.get(address);
      return key ? (JSON.parse(JSON.stringify({ state: key.state, holders: [...key.holders] })) as never) : null;
    },
    write(changes) {
      const text = JSON.stringify(changes);
      const { end, afterMs } = fate();
      if (afterMs === 0) {
        finish(text, end);
        return;
      }
      return new Promise((resolve, reject) => {
        schedule(afterMs, () => {
          // A process that was killed meanwhile wrote nothing.
          if (!isAlive()) return;
          try {
            finish(text, end);
            resolve();
          } catch (error) {
            reject(error);
          }
        });
      });
    },
    sweep(before) {
      for (const [address, { wholeAt }] of disk) if (wholeAt !== null && wholeAt <= before) disk.delete(address);
    },
    close() {},
  };
}
