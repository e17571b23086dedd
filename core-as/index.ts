export * from "./batch";
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
export { growsCheaply } from "./memory";
export { FIXED_WINDOW, SLIDING_WINDOW, TOKEN_BUCKET } from "./policy";
export { outAt, policyAt, scratch, scratchDecide, scratchRebase, scratchRefund } from "./scratch";
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
