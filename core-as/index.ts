export { alloc } from "./alloc";
export * from "./batch";
export { outAt, policyAt } from "./call";
export {
  absorbKey,
  BINARY,
  decideKey,
  INTEGER,
  KEY_BYTES_MAX,
  keyAt,
  LATIN1,
  openKeys,
  refundKey,
  resetKey,
  seedKeys,
  shardOfKey,
  UTF16,
} from "./keys";
export { lendKey, openLeases, recallKey, spendKey } from "./leases";
export { growsCheaply } from "./memory";
export { decide, FIXED_WINDOW, refund, SLIDING_WINDOW, TOKEN_BUCKET } from "./policy";
export {
  ALLOW_NEW,
  COMMIT,
  DENY_NEW,
  EVICT_FULLEST,
  keysHeld,
  openTable,
  REPORT,
  timesAllowed,
  timesDenied,
  timesEvicted,
} from "./table";
export { rebaseBucket } from "./token-bucket";
