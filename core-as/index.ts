export { FIXED_WINDOW, SLIDING_WINDOW, TOKEN_BUCKET } from "./policy";
export { outAt, policyAt, scratch, scratchDecide, scratchRebase, scratchRefund } from "./scratch";
