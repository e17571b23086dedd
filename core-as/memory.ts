// Memory for what lives as long as the instance. Nothing is handed back to the platform (WASM
// memories cannot shrink); what the table gives up goes to free lists of its own.

/** One WASM page. */
const WASM_PAGE: u64 = 65_536;

let next: usize = __heap_base;
/** The memory grows by at least this many pages at once: 1 MiB. */
const stepPages: u64 = 16;
/** And by its size >> this, unless shared; 63: never. */
let stepShift: u64 = 2;

/**
 * Says that growing is cheap. Growing a shared memory takes microseconds, whereas V8 collects
 * all garbage when a memory of its own grows: there, fewer and larger steps are better.
 */
export function growsCheaply(): void {
  stepShift = 63;
}

/** `bytes` of zeros, aligned to `align` (a power of two); 0 if there is no memory left. */
export function reserve(bytes: u64, align: u64): usize {
  const start = (<u64>next + align - 1) & ~(align - 1);
  const end = start + bytes;
  const pages = <u64>memory.size();
  if (end > pages * WASM_PAGE) {
    const missing = (end + WASM_PAGE - 1) / WASM_PAGE - pages;
    // The last page of 4 GiB stays unused, so that every end is an address.
    if (pages + missing > 65_535) return 0;
    const step = max(missing, max(stepPages, pages >> stepShift));
    if (!grow(min(step, 65_535 - pages)) && !grow(missing)) return 0;
  }
  next = <usize>end;
  return <usize>start;
}

function grow(pages: u64): bool {
  return memory.grow(<i32>pages) >= 0;
}
