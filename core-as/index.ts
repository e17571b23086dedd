export { alloc } from "./alloc";
export { decide, FIXED_WINDOW, refund, SLIDING_WINDOW, TOKEN_BUCKET } from "./policy";
export { rebaseBucket } from "./token-bucket";
