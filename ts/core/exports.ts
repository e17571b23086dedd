// Said without WebAssembly's own types, which only browsers' and Node's type libraries have: the
// root's types must do without either.
interface Constant {
  readonly value: number;
}

/** What core-as/index.ts exports. An address is a byte in `memory`; constants are Globals. */
export interface CoreExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly TOKEN_BUCKET: Constant;
  readonly FIXED_WINDOW: Constant;
  readonly SLIDING_WINDOW: Constant;
  alloc(cells: number): number;
  decide(kind: number, policy: number, state: number, out: number, now: number, cost: number, commit: number): number;
  refund(kind: number, policy: number, state: number, now: number, count: number): void;
  rebaseBucket(policy: number, state: number, elapsedMs: number): void;
}
