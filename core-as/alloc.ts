import { reserve } from "./memory";

/** Room for `cells` numbers, zeroed; its address, or 0 if there is no memory left. It is never given back: ask for few. */
export function alloc(cells: u32): usize {
  return reserve((<u64>cells) << 3, 8);
}
