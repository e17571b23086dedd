/** Room for `cells` numbers, zeroed; its address. It is never given back: ask for few. */
export function alloc(cells: u32): usize {
  const bytes = (<usize>cells) << 3;
  const at = heap.alloc(bytes);
  memory.fill(at, 0, bytes);
  return at;
}
