// What the core and its hosts have agreed on, read by the compilers of both: plain numbers only.

/** Kinds of entries: a policy's, or of leases. */
export const TOKEN_BUCKET = 0;
export const FIXED_WINDOW = 1;
export const SLIDING_WINDOW = 2;
export const LEASE = 3;

/** What a full table does with a new key. */
export const DENY_NEW = 0;
export const ALLOW_NEW = 1;
export const EVICT_FULLEST = 2;

/** Bits of a call's mode: it takes its cost; it writes `out`. */
export const COMMIT = 1;
export const REPORT = 2;
/** Without COMMIT: it is refused where a full table would refuse to COMMIT, and else has a place for that. */
export const CLAIM = 4;

/** Forms of a key: a string whose characters are all below 256, a byte each. */
export const LATIN1 = 0;
/** Any other string, two bytes a character. */
export const UTF16 = 1;
/** An integer: the 8 bytes of an f64. */
export const INTEGER = 2;
/** 16 bytes. */
export const BINARY = 3;

/** Bytes of a key that fit into one call; a longer one is hashed in parts of this size first. */
export const KEY_BYTES_MAX = 8192;
/** Keys that a batch may have. */
export const BATCH_MAX = 64;

// Where a call and its host leave things for each other, in bytes behind the core's `callAt`:
//
// ╒═══════════════════════ for each of BATCH_MAX keys ═══════════════════════╕
// │ out f64 × 4 … │ cost f64 … │ fingerprint u64 … │ form f64 … │ admitted u8 … │ policy f64 × 4 │ keys u8 … │

/** Decisions: [admitted, remaining, retryAfterMs, resetMs]. A call on one key writes the first. */
export const OUT = 0;
export const COSTS = OUT + 32 * BATCH_MAX;
export const FINGERPRINTS = COSTS + 8 * BATCH_MAX;
export const FORMS = FINGERPRINTS + 8 * BATCH_MAX;
export const ADMITTED = FORMS + 8 * BATCH_MAX;
/** The constants of the table's policy. */
export const POLICY = ADMITTED + BATCH_MAX;
/** The bytes of keys, and room for the tag and what the hash needs. */
export const KEY = POLICY + 32;
export const CALL_BYTES = KEY + KEY_BYTES_MAX + 16;
