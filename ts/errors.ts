/** Why a limiter could not do what it was asked; see LimiterError. */
export type LimiterErrorCode =
  | "closed" // the limiter was closed
  | "unreachable" // the ledger gave no answer
  | "storage" // the ledger could not store its state
  | "protocol" // the two sides do not understand each other
  | "children_max" // a tenant has as many endpoints as it may have
  | "unsupported"; // this platform or design cannot do that

/**
 * A link, a store or a platform failed. A refusal is never an error (it is a Decision), and a
 * caller's mistake is a RangeError. Two copies of the package have two such classes: ask for the code.
 */
export class LimiterError extends Error {
  override readonly name = "LimiterError";
  readonly code: LimiterErrorCode;

  constructor(code: LimiterErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The error for a caller's mistake: names the option, shows the value, says what is allowed. */
export function badOption(option: string, value: unknown, allowed: string): RangeError {
  return new RangeError(`${option} must be ${allowed}; got ${show(value)}`);
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value);
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "object" && value !== null) {
    return Array.isArray(value) ? `an array of ${value.length}` : "an object";
  }
  return String(value);
}

/** `value` if it is an integer in min..max, else a RangeError that names `option`. */
export function requireInteger(option: string, value: unknown, min = 1, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw badOption(option, value, `an integer in ${min}..${max}`);
  }
  return value;
}

/** `value` if it is among `choices`, else a RangeError that names `option`. */
export function requireOneOf<T extends string>(option: string, value: T, choices: readonly T[]): T {
  if (!choices.includes(value)) throw badOption(option, value, choices.map((choice) => `"${choice}"`).join(" or "));
  return value;
}

/** Throws a RangeError if `options` is no plain object or has a property that is not `known`. */
export function requireKnown(where: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw badOption(where, options, `an object with ${known.join(", ")}`);
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new RangeError(`${where} has no option "${name}"; allowed: ${known.join(", ")}`);
  }
}
