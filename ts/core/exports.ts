// Said without WebAssembly's own types, which only browsers' and Node's type libraries have: the
// root's types must do without either.
interface Constant {
  readonly value: number;
}

/** What core-as/index.ts exports. Addresses are bytes in `memory`; constants are Globals. */
export interface CoreExports {
  readonly memory: { readonly buffer: ArrayBufferLike };
  growsCheaply(): void;

  readonly TOKEN_BUCKET: Constant;
  readonly FIXED_WINDOW: Constant;
  readonly SLIDING_WINDOW: Constant;
  readonly outAt: Constant;
  readonly policyAt: Constant;

  alloc(cells: number): number;
  decide(kind: number, policy: number, state: number, out: number, now: number, cost: number, commit: number): number;
  refund(kind: number, policy: number, state: number, now: number, count: number): void;
  rebaseBucket(policy: number, state: number, elapsedMs: number): void;

  readonly DENY_NEW: Constant;
  readonly ALLOW_NEW: Constant;
  readonly EVICT_FULLEST: Constant;
  readonly COMMIT: Constant;
  readonly REPORT: Constant;
  openTable(kind: number, cells: number, keysMax: number, whenFull: number): number;
  keysHeld(): number;
  timesDenied(): number;
  timesAllowed(): number;
  timesEvicted(): number;

  readonly LATIN1: Constant;
  readonly UTF16: Constant;
  readonly INTEGER: Constant;
  readonly BINARY: Constant;
  readonly KEY_BYTES_MAX: Constant;
  readonly keyAt: Constant;
  openKeys(): number;
  seedKeys(): void;
  absorbKey(): void;
  shardOfKey(form: number, shards: number): number;
  decideKey(form: number, now: number, cost: number, mode: number): number;
  refundKey(form: number, now: number, count: number): number;
  resetKey(form: number, now: number): number;

  openLeases(most: number): number;
  lendKey(form: number, tokens: number, end: number, low: number, whole: number): number;
  spendKey(form: number, now: number, cost: number): number;
  recallKey(form: number): number;

  readonly BATCH_MAX: Constant;
  readonly BATCH_COSTS: Constant;
  readonly BATCH_FINGERPRINTS: Constant;
  readonly BATCH_FORMS: Constant;
  readonly BATCH_ADMITTED: Constant;
  readonly batchAt: Constant;
  openBatch(): number;
  decideBatch(count: number, now: number, mode: number): void;
}
