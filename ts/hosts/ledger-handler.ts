// Serves the ledgers behind a link over HTTP, as a fetch handler that fits any server. Whatever
// comes in is a stranger's until its token is checked, and may be nonsense even then.
import { badOption, requireKnown } from "../errors.ts";
import type { LedgerReply, LedgerRequest, Ledgers, PlanRequest } from "../ledger/messages.ts";
import { errorReply } from "../ledger/replies.ts";
import { ADDRESS_MAX, ASKS_MAX, BODY_BYTES_MAX, isToken, TOKEN_ALLOWED, type WireReply } from "./wire.ts";

export interface LedgerHandlerOptions {
  /** The ledgers to serve, such as embedded(). */
  link: Ledgers;
  /** What callers must show. null: whoever reaches the handler may decide, reset and refund. */
  token: string | null;
}

const HOLDER_CHARS_MAX = 128;
const POLICIES_MAX = 16;
const OPS_CELLS_MAX = 8192;

/** An answer without replies: the POST as a whole was refused. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A fetch handler that answers the callers of remote(url), at whatever path you give it.
 *
 * Refuses bodies above 1 MiB (413), a wrong token (401, compared in constant time), and what is
 * no JSON of this format (400). A body must call itself application/json (415): a web page can
 * then not send one here unasked.
 *
 * @throws {RangeError} an option is missing or out of range
 */
export function ledgerHandler(options: LedgerHandlerOptions): (request: Request) => Promise<Response> {
  requireKnown("ledgerHandler", options, ["link", "token"]);
  const { link, token } = options;
  if (typeof link?.ask !== "function") throw badOption("link", link, "made by a host, such as embedded()");
  if (token !== null && !isToken(token)) {
    const shown = typeof token === "string" ? `one of ${(token as string).length}` : token;
    throw badOption("token", shown, `${TOKEN_ALLOWED}, or null to serve whoever comes`);
  }
  const expected = token === null ? null : digest(`Bearer ${token}`);
  return async (request) => {
    try {
      if (request.method !== "POST") throw new Refused(405, "POST only");
      if (expected && !sameBytes(await expected, await digest(request.headers.get("authorization") ?? ""))) {
        throw new Refused(401, "the token is missing or wrong");
      }
      if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
        throw new Refused(415, "the body must be application/json");
      }
      const asks = asksIn(await readText(request));
      const replies = await Promise.all(asks.map((ask) => answer(link, ask)));
      return Response.json({ v: 1, replies } satisfies WireReply);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const body = { v: 1, error: { message: error.message } };
      // What is left of the body isn't read, so that the connection can't be used again.
      return Response.json(body, { status: error.status, headers: { connection: "close" } });
    }
  };
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Compares digests, in a time that says nothing of where they differ. */
function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= (a[at] as number) ^ (b[at] as number);
  return difference === 0;
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES_MAX) throw tooLarge();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || !value) return text + decoder.decode();
    bytes += value.length;
    if (bytes > BODY_BYTES_MAX) {
      await reader?.cancel();
      throw tooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(): Refused {
  return new Refused(413, `the body is above ${BODY_BYTES_MAX} bytes`);
}

/** The asks as they came; each is looked at on its own, so that one bad one spoils no other. */
function asksIn(text: string): unknown[] {
  let body: { v?: unknown; asks?: unknown } | null;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refused(400, "the body is no JSON");
  }
  if (body?.v !== 1) throw new Refused(400, `the body has version ${JSON.stringify(body?.v)}; this server speaks 1`);
  if (!Array.isArray(body.asks) || body.asks.length > ASKS_MAX) {
    throw new Refused(400, `asks must be an array of at most ${ASKS_MAX}`);
  }
  return body.asks;
}

async function answer(link: Ledgers, ask: unknown): Promise<LedgerReply> {
  try {
    const { address, request } = (ask ?? {}) as { address?: unknown; request?: unknown };
    if (typeof address !== "string" || address === "" || address.length > ADDRESS_MAX) {
      throw badOption("address", address, `1..${ADDRESS_MAX} characters: the limiter's name and the key together`);
    }
    return await link.ask(address, requestIn(request));
  } catch (error) {
    return errorReply(error);
  }
}

/** The request without what this version doesn't know. What the fields mean is the ledger's to check. */
function requestIn(value: unknown): LedgerRequest {
  const { v, holder, seq, policies, carry, durability, ops, sync, plan } = (value ?? {}) as LedgerRequest;
  if (typeof holder !== "string" || holder === "" || holder.length > HOLDER_CHARS_MAX) {
    throw badOption("holder", holder, `1..${HOLDER_CHARS_MAX} characters`);
  }
  if (!Number.isSafeInteger(seq) || seq < 0) throw badOption("seq", seq, "an integer from 0");
  if (!Array.isArray(policies) || policies.length > POLICIES_MAX || !policies.every(isObject)) {
    throw badOption("policies", policies, `an array of at most ${POLICIES_MAX} policies`);
  }
  if (!Array.isArray(ops) || ops.length > OPS_CELLS_MAX) {
    throw badOption("ops", ops, `an array of at most ${OPS_CELLS_MAX} numbers`);
  }
  const request: LedgerRequest = { v, holder, seq, policies, ops };
  if (carry !== undefined) request.carry = carry;
  if (durability !== undefined) request.durability = durabilityIn(durability);
  // The ledger checks what is in it.
  if (isObject(sync) && sync) request.sync = sync;
  if (plan !== undefined) request.plan = planIn(plan);
  return request;
}

/** Without what this version doesn't know. Dropped it must not be: then nothing would keep to it. */
function planIn(value: unknown): PlanRequest {
  const { address, child, policies, childrenMax } = (value ?? {}) as PlanRequest;
  for (const [name, text] of Object.entries({ address, child })) {
    if (typeof text !== "string" || text.length > ADDRESS_MAX) {
      throw badOption(`plan.${name}`, text, `1..${ADDRESS_MAX} characters`);
    }
  }
  if (!Array.isArray(policies) || policies.length > POLICIES_MAX || !policies.every(isObject)) {
    throw badOption("plan.policies", policies, `an array of at most ${POLICIES_MAX} policies`);
  }
  return { address, child, policies, childrenMax };
}

function durabilityIn(value: LedgerRequest["durability"]): NonNullable<LedgerRequest["durability"]> {
  if (value?.mode === "strict") return { mode: "strict" };
  if (value?.mode === "reserve" && isAmount(value.chunk)) return { mode: "reserve", chunk: value.chunk };
  if (value?.mode === "lazy" && isAmount(value.everyMs)) return { mode: "lazy", everyMs: value.everyMs };
  throw badOption("durability", value, "strict, reserve with a chunk, or lazy with everyMs");
}

function isAmount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 2 ** 40;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
