import type { HolderState, LedgerState } from "./state.ts";
import type { LedgerStore } from "./store.ts";

/** A ledger store that lives as long as its process. */
export function memoryStore(): LedgerStore {
  const keys = new Map<
    string,
    { state: LedgerState | null; wholeAt: number | null; holders: Map<string, HolderState> }
  >();
  return {
    read(address) {
      const key = keys.get(address);
      return key ? { state: key.state, holders: [...key.holders] } : null;
    },
    write(changes) {
      for (const { address, state, wholeAt, holders } of changes) {
        const known = keys.get(address)?.holders ?? new Map<string, HolderState>();
        for (const [id, holder] of holders) known.set(id, holder);
        keys.set(address, { state, wholeAt, holders: known });
      }
    },
    sweep(before) {
      for (const [address, { wholeAt, holders }] of keys) {
        for (const [id, { at }] of holders) if (at <= before) holders.delete(id);
        if (wholeAt !== null && wholeAt <= before) keys.delete(address);
      }
    },
    close: () => keys.clear(),
  };
}
