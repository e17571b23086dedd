// What every entry for HTTP exports beside its own rateLimit.
export type { RateLimitOptions } from "./guard.ts";
export type { HeaderOptions, HeaderStyle } from "./headers.ts";
export {
  type ByIpOptions,
  byHeader,
  byIp,
  byUser,
  compound,
  type KeyOf,
  type KeySource,
  type MissingOption,
} from "./keys.ts";
export type { Trust } from "./trust.ts";
