import type { HolderState, LedgerState } from "./state.ts";

/** What a store holds of a key. */
export interface StoredKey {
  state: LedgerState | null;
  holders: [holder: string, state: HolderState][];
}

/** What is to be stored of a key: its state, and the holders that changed. */
export interface KeyChange extends StoredKey {
  address: string;
  /** When the state says nothing any more and may be deleted, epoch ms; null: it must stay. */
  wholeAt: number | null;
}

/** Where a host keeps its ledgers. One process at a time owns it. */
export interface LedgerStore {
  /** What is stored of a key. @throws if it can't be read */
  read(address: string): StoredKey | null;
  /** Stores all changes or none; they are durable when it returns. @throws if they are not */
  write(changes: readonly KeyChange[]): void | Promise<void>;
  /** Deletes the keys that were whole by `before`, and the holders not heard since. */
  sweep(before: number): void;
  close(): void;
}
