/** What core-as/index.ts exports. Addresses are bytes in `memory`; constants are Globals. */
export interface CoreExports {
  readonly memory: WebAssembly.Memory;
  readonly TOKEN_BUCKET: WebAssembly.Global;
  readonly FIXED_WINDOW: WebAssembly.Global;
  readonly SLIDING_WINDOW: WebAssembly.Global;
  readonly outAt: WebAssembly.Global;
  readonly policyAt: WebAssembly.Global;
  scratch(cells: number): number;
  scratchDecide(kind: number, now: number, cost: number, commit: number): number;
  scratchRefund(kind: number, now: number, count: number): void;
  scratchRebase(elapsedMs: number): void;
}
