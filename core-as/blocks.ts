// Blocks of one size for states too large for an entry: a sliding window's runs. An entry keeps
// its block when another key takes it over.
import { reserve } from "./memory";

let blockBytes: u64 = 0;
/** The first of the blocks that nobody owns; each holds the address of the next. */
let unowned: usize = 0;

export function defineBlocks(cells: u32): void {
  blockBytes = (<u64>cells) << 3;
}

/** A block, its content arbitrary; 0 if there is no memory left. */
export function takeBlock(): usize {
  const block = unowned;
  if (!block) return reserve(blockBytes, 8);
  unowned = load<usize>(block);
  return block;
}

export function giveBlock(block: usize): void {
  store<usize>(block, unowned);
  unowned = block;
}
