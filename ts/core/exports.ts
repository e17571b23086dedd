// Said without WebAssembly's own types, which only browsers' and Node's type libraries have: the
// root's types must do without either.
interface Global {
  readonly value: number;
}

/** What core-as/index.ts exports. Addresses are bytes in `memory`; codes and places are in abi.ts. */
export interface CoreExports {
  readonly memory: { readonly buffer: ArrayBufferLike };
  growsCheaply(): void;

  alloc(cells: number): number;
  decide(kind: number, policy: number, state: number, out: number, now: number, cost: number, commit: number): number;
  refund(kind: number, policy: number, state: number, now: number, count: number): void;
  rebase(policy: number, state: number, elapsedMs: number): void;

  readonly callAt: Global;
  openTable(kind: number, cells: number, keysMax: number, whenFull: number): number;
  seedKeys(): void;
  absorbKey(): void;
  shardOfKey(form: number, shards: number): number;
  decideKey(form: number, now: number, cost: number, mode: number): number;
  refundKey(form: number, now: number, count: number): number;
  decideBatch(count: number, now: number, mode: number): number;
  readonly held: Global;
  readonly evicted: Global;
  readonly denied: Global;
  readonly allowed: Global;

  lendKey(form: number, tokens: number, end: number, low: number, whole: number): number;
  spendKey(form: number, now: number, cost: number): number;
  recallKey(form: number): number;
}
