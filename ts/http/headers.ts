// The headers that tell a client about its budget.
//
// "standard" is the IETF's draft-ietf-httpapi-ratelimit-headers in its current form (draft 11):
//   RateLimit-Policy: "api";q=20;w=12;pk=:…:     the policy: q requests in w seconds
//   RateLimit: "api";r=7;t=8;pk=:…:              now: no more than r in the next t seconds
// The older ones are what many clients read today.
import type { Ambient, Decision, Key, Limiter, Policy, PolicyDecision } from "../contract.ts";
import { badOption, requireKnown } from "../errors.ts";
import { type Quota, quotasOf } from "./quota.ts";
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
  name: string;
  value: string;
  list: boolean;
}

/** Of a refusal's body, a problem (RFC 9457). */
export const CONTENT_TYPE = "application/problem+json";

/** Writes fields to a response, and adds to what it has where they are lists. */
export function writeFields(
  fields: readonly Field[],
  get: (name: string) => unknown,
  set: (name: string, value: string) => void,
): void {
  for (const { name, value, list } of fields) {
    const before = list ? get(name) : undefined;
    set(name, before === undefined || before === null || before === "" ? value : `${before}, ${value}`);
  }
}

const PK_BYTES = 12;
const SECRET_BYTES = 32;
/** Keys whose partition key is kept, and the longest that is: some hundred kB at most. */
const RECENT_MAX = 1000;
const RECENT_LENGTH_MAX = 128;
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

/** The parameter `pk` of a partition, and RateLimit-Policy with it. */
interface Part {
  pk: string;
  policies: Field;
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
  readonly #recent = new Map<string, Part>();
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
    const fields: Field[] = [];
    for (const style of this.#styles) {
      if (style === "standard") this.#standard(told, fields);
      else this.#older(style, told, fields);
    }
    if (this.#exposed !== "") {
      fields.push({ name: "Access-Control-Expose-Headers", value: this.#exposed, list: true });
    }
    return fields;
  }

  #standard(told: Told, fields: Field[]): void {
    const set = this.#setOf(this.#limiter.policiesOf(told.key));
    const { pk, policies } = this.#partOf(told.key, set);
    fields.push(policies);
    let limits = "";
    const each = [...knownOf(told.decision)];
    // A plan's refusal that was remembered says nothing of the endpoint.
    if (!told.decision.each && told.decision.reason === "plan_cap") each.unshift(...new Array(set.quotas.length - 1));
    for (let index = 0; index < set.quotas.length; index++) {
      const one = each[index];
      if (!one) continue;
      const { quoted } = set.quotas[index] as Quota;
      limits += `${limits && ", "}${quoted};r=${sfInteger(one.remaining)}${effectiveWindow(one, told)}${pk}`;
    }
    if (limits) fields.push({ name: "RateLimit", value: limits, list: true });
  }

  #older(style: Exclude<HeaderStyle, "standard">, told: Told, fields: Field[]): void {
    const add = (name: string, value: string | number) => fields.push({ name, value: String(value), list: false });
    if (style !== "x-ratelimit") add("RateLimit-Policy", this.#setOf(this.#limiter.policiesOf(told.key)).older);
    const { decision, now } = told;
    if (knownOf(decision).length === 0) return;
    const { limit, remaining } = decision;
    const reset = secondsLeft(decision, told);
    if (style === "draft-7") return void add("RateLimit", `limit=${limit}, remaining=${remaining}, reset=${reset}`);
    const prefix = style === "draft-6" ? "RateLimit" : "X-RateLimit";
    add(`${prefix}-Limit`, limit);
    add(`${prefix}-Remaining`, remaining);
    add(`${prefix}-Reset`, style === "draft-6" ? reset : Math.ceil(now / 1000) + reset);
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
    if (this.#recent.size === RECENT_MAX) this.#recent.clear();
    if (typeof key === "string" && key.length <= RECENT_LENGTH_MAX) this.#recent.set(key, made);
    return made;
  }
}

function partWith(quotas: readonly Quota[], pk: string): Part {
  const items = quotas.map(({ quoted, quota, window }) => `${quoted};q=${sfInteger(quota)};w=${window}${pk}`);
  return { pk, policies: { name: "RateLimit-Policy", value: items.join(", "), list: true } };
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

function effectiveWindow(decision: PolicyDecision, told: Told): string {
  const seconds = secondsLeft(decision, told);
  return seconds === 0 ? "" : `;t=${sfInteger(seconds)}`;
}

function drawSecret(ambient: Ambient): Uint8Array {
  const secret = new Uint8Array(SECRET_BYTES);
  ambient.random(secret);
  return secret;
}
