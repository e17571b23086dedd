/** What core-as/index.ts exports. An address is a byte in `memory`; constants are Globals. */
export interface CoreExports {
  readonly memory: WebAssembly.Memory;
  readonly TOKEN_BUCKET: WebAssembly.Global;
  readonly FIXED_WINDOW: WebAssembly.Global;
  readonly SLIDING_WINDOW: WebAssembly.Global;
  alloc(cells: number): number;
  decide(kind: number, policy: number, state: number, out: number, now: number, cost: number, commit: number): number;
  refund(kind: number, policy: number, state: number, now: number, count: number): void;
  rebaseBucket(policy: number, state: number, elapsedMs: number): void;
}
