// The headers that tell a client about its budget.
//
// "standard" is the IETF's draft-ietf-httpapi-ratelimit-headers in its current form (draft 11):
//   RateLimit-Policy: "api";q=20;w=12;pk=:…:     the policy: q requests in w seconds
//   RateLimit: "api";r=7;t=8;pk=:…:              now: no more than r in the next t seconds
// The older ones are what many clients read today.
import type { Ambient, Decision, Key, Limiter, Policy, PolicyDecision } from "../contract.ts";
import { badOption, requireKnown } from "../errors.ts";
import { type Quota, quotasOf } from "./quota.ts";
import { Recent } from "./recent.ts";
import { hmacSha256 } from "./sha256.ts";
import { sfBytes, sfInteger } from "./structured.ts";

/** "x-ratelimit" tells its reset in epoch seconds, as GitHub does. */
export type HeaderStyle = "standard" | "draft-7" | "draft-6" | "x-ratelimit";

export interface HeaderOptions {
  /** One or several; "standard" unless given. */
  styles?: HeaderStyle | readonly HeaderStyle[];
  /**
   * What the partition key `pk` is made with: the first 12 bytes of HMAC-SHA-256, under this
   * secret, of the JSON of [limiter's name, key]. Give one if several servers are to agree; drawn at
   * random for this process otherwise. false: no pk.
   */
  pk?: string | Uint8Array | false;
  /** Whether scripts of other origins may read these headers: adds them to Access-Control-Expose-Headers. */
  expose?: boolean;
}

/** A header to be written. Those of a list add to what is there, the others replace it. */
export interface Field {
  /** In lower case: servers make it so to look a header up, and constants spare them the work. */
  name: string;
  value: string;
  list: boolean;
}

/** Of a refusal's body, a problem (RFC 9457). */
export const CONTENT_TYPE = "application/problem+json";

const PK_BYTES = 12;
const SECRET_BYTES = 32;
const EXPOSED: Record<HeaderStyle, readonly string[]> = {
  standard: ["RateLimit-Policy", "RateLimit"],
  "draft-7": ["RateLimit-Policy", "RateLimit"],
  "draft-6": ["RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
  "x-ratelimit": ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
};

/** The least whole seconds, one or more, after which the call succeeds if nobody else comes; null: never. */
export function retryAfterSeconds({ retryAfterMs }: Pick<Decision, "retryAfterMs">): number | null {
  return retryAfterMs === null ? null : Math.max(1, Math.ceil(retryAfterMs / 1000));
}

/** A decision, at the time of its answer. */
export interface Told {
  key: Key;
  decision: Decision;
  /** Epoch ms. */
  now: number;
  /** Seconds that no `t` may exceed: the Retry-After of the answer, if it has one. */
  ceiling: number;
}

/** What is told of a partition whatever the decision. */
interface Part {
  /** The parameter `pk`. */
  pk: string;
  /** RateLimit-Policy. */
  policies: Field;
  /** The parameters behind `r`, and the `t` for which they were made last: it changes once a second. */
  tail: string;
  seconds: number;
}

/** What headers say of policies, whatever the decision. */
interface QuotaSet {
  quotas: readonly Quota[];
  /** As the older styles' RateLimit-Policy. */
  older: string;
  /** Without a partition key. */
  whole: Part;
}

/** Checked options. @throws {RangeError} one is out of range or unknown */
export function stylesOf(options: HeaderOptions): HeaderStyle[] {
  requireKnown("headers", options, ["styles", "pk", "expose"]);
  const { styles = "standard", pk } = options;
  const list = [...new Set(typeof styles === "string" ? [styles] : styles)];
  for (const style of list) {
    if (!Object.hasOwn(EXPOSED, style)) throw badOption("headers.styles", style, Object.keys(EXPOSED).join(", "));
  }
  if (list.filter((style) => style !== "x-ratelimit").length > 1) {
    throw badOption("headers.styles", list.join(" and "), "styles that do not write the same headers in two ways");
  }
  if (pk !== undefined && pk !== false && (!(typeof pk === "string" || pk instanceof Uint8Array) || pk.length === 0)) {
    throw badOption("headers.pk", pk, "a secret, as a non-empty string or bytes, or false");
  }
  return list;
}

/** Writes the headers of one limiter. */
export class HeaderWriter {
  readonly #limiter: Limiter;
  readonly #styles: readonly HeaderStyle[];
  /** By the policies: endpoints of a tenant may have their own. */
  readonly #sets = new Map<readonly Policy[], QuotaSet>();
  readonly #exposed: string;
  readonly #secret: string | Uint8Array | false | undefined;
  readonly #recent = new Recent<Part>();
  #hash: ((message: string) => Uint8Array) | undefined;

  constructor(limiter: Limiter, options: HeaderOptions) {
    this.#limiter = limiter;
    this.#styles = stylesOf(options);
    this.#secret = options.pk;
    this.#setOf(limiter.policies);
    const names = this.#styles.flatMap((style) => EXPOSED[style]);
    this.#exposed = options.expose ? [...names, "Retry-After"].join(", ") : "";
  }

  /** One for each policy that holds for the key, in the order of a decision's `each`. */
  quotasFor(key: Key): readonly Quota[] {
    return this.#setOf(this.#limiter.policiesOf(key)).quotas;
  }

  #setOf(policies: readonly Policy[]): QuotaSet {
    let set = this.#sets.get(policies);
    if (!set) {
      const quotas = quotasOf(this.#limiter.name, policies);
      const older = quotas.map(({ quota, window }) => `${quota};w=${window}`).join(", ");
      set = { quotas, older, whole: partWith(quotas, "") };
      this.#sets.set(policies, set);
    }
    return set;
  }

  fields(told: Told): Field[] {
    let fields: Field[] = [];
    for (const style of this.#styles) {
      const made = style === "standard" ? this.#standard(told) : this.#older(style, told);
      fields = fields.length === 0 ? made : [...fields, ...made];
    }
    if (this.#exposed !== "") {
      fields.push({ name: "access-control-expose-headers", value: this.#exposed, list: true });
    }
    return fields;
  }

  #standard(told: Told): Field[] {
    const set = this.#setOf(this.#limiter.policiesOf(told.key));
    const part = this.#partOf(told.key, set);
    const known = knownOf(told.decision);
    // A plan's refusal that was remembered says nothing of the endpoint.
    const skipped = !told.decision.each && told.decision.reason === "plan_cap" ? set.quotas.length - 1 : 0;
    let limits = "";
    for (let index = skipped; index < set.quotas.length; index++) {
      const one = known[index - skipped];
      if (!one) continue;
      const { head } = set.quotas[index] as Quota;
      limits += `${limits && ", "}${head}${sfInteger(one.remaining)}${tailOf(part, secondsLeft(one, told))}`;
    }
    return limits ? [part.policies, { name: "ratelimit", value: limits, list: true }] : [part.policies];
  }

  #older(style: Exclude<HeaderStyle, "standard">, told: Told): Field[] {
    const { older } = this.#setOf(this.#limiter.policiesOf(told.key));
    const policies = style === "x-ratelimit" ? [] : [plain("ratelimit-policy", older)];
    const { decision, now } = told;
    if (knownOf(decision).length === 0) return policies;
    const { limit, remaining } = decision;
    const reset = secondsLeft(decision, told);
    switch (style) {
      case "draft-7":
        return [...policies, plain("ratelimit", `limit=${limit}, remaining=${remaining}, reset=${reset}`)];
      case "draft-6":
        return [
          ...policies,
          plain("ratelimit-limit", limit),
          plain("ratelimit-remaining", remaining),
          plain("ratelimit-reset", reset),
        ];
      default:
        return [
          plain("x-ratelimit-limit", limit),
          plain("x-ratelimit-remaining", remaining),
          plain("x-ratelimit-reset", Math.ceil(now / 1000) + reset),
        ];
    }
  }

  /** What depends on the key alone. */
  #partOf(key: Key, { quotas, whole }: QuotaSet): Part {
    if (this.#secret === false) return whole;
    const known = typeof key === "string" ? this.#recent.get(key) : undefined;
    if (known) return known;
    this.#hash ??= hmacSha256(this.#secret ?? drawSecret(this.#limiter.ambient));
    const digest = this.#hash(JSON.stringify([this.#limiter.name, key]));
    const made = partWith(quotas, `;pk=${sfBytes(digest.subarray(0, PK_BYTES))}`);
    // Clients come in bursts. The rest is hashed anew: memory stays flat, whatever they send.
    return typeof key === "string" ? this.#recent.keep(key, made) : made;
  }
}

function partWith(quotas: readonly Quota[], pk: string): Part {
  const items = quotas.map(({ quoted, quota, window }) => `${quoted};q=${sfInteger(quota)};w=${window}${pk}`);
  return { pk, policies: { name: "ratelimit-policy", value: items.join(", "), list: true }, tail: pk, seconds: 0 };
}

/** What each policy says; nothing where no ledger was asked, and so nothing is known. */
function knownOf(decision: Decision): readonly PolicyDecision[] {
  return decision.source === "fallback" ? [] : (decision.each ?? [decision]);
}

/**
 * Seconds until the budget is whole, and on a refusal no more than until the retry. A client
 * that sends no more than `remaining` in them is never refused for it.
 */
function secondsLeft({ reset }: PolicyDecision, { now, ceiling }: Told): number {
  const seconds = Math.max(0, Math.ceil((reset - now) / 1000));
  return seconds < ceiling ? seconds : ceiling;
}

function tailOf(part: Part, seconds: number): string {
  if (seconds !== part.seconds) {
    part.seconds = seconds;
    part.tail = seconds === 0 ? part.pk : `;t=${sfInteger(seconds)}${part.pk}`;
  }
  return part.tail;
}

function plain(name: string, value: string | number): Field {
  return { name, value: String(value), list: false };
}

function drawSecret(ambient: Ambient): Uint8Array {
  const secret = new Uint8Array(SECRET_BYTES);
  ambient.random(secret);
  return secret;
}
