// The link to ledgers that another process serves, over HTTP.
import type { ClosableLink } from "../designs/link.ts";
import { badOption, LimiterError, requireInteger, requireKnown } from "../errors.ts";
import { overLedgers } from "../holders/over-ledgers.ts";
import { strict } from "../ledger/durability.ts";
import type { Durability, LedgerReply, LedgerRequest } from "../ledger/messages.ts";
import { CHILDREN_MAX } from "../ledger/supervisor.ts";
import { plansOf } from "../link/terms.ts";
import { type Duration, toMs } from "../policies/duration.ts";
import { ambient } from "./ambient.ts";
import { ASKS_MAX, isToken, TOKEN_ALLOWED, type WireAsk } from "./wire.ts";

export interface RemoteOptions {
  /** What the server asks to be shown. */
  token?: string;
  /** What the ledgers commit, and when; strict() unless given. */
  durability?: Durability;
  /** After this, an answer that hasn't come won't; "5s" unless given. Callers wait for the limiter's deadline at most. */
  timeout?: Duration;
  /** Endpoints that a tenant of a limiter with a plan may have at a time; 1,000 unless given. */
  childrenMax?: number;
}

/** What is peculiar to a platform's requests. */
export interface Outgoing {
  /** POSTs under way at a time; what comes meanwhile shares the next. */
  inFlightMax: number;
  /** Keeps work going that would end with the request that began it. */
  outlive?(work: Promise<unknown>): void;
}

/** Characters of JSON after which the next POST begins, well below what servers read. */
const BODY_CHARS = 2 ** 18;

/** A request on its way, already JSON. */
interface Ask {
  json: string;
  resolve(reply: LedgerReply): void;
  reject(error: unknown): void;
}

/**
 * A link to ledgers behind serveLedger() or ledgerHandler().
 *
 * What one tick asks, of whichever keys, travels in one POST over a connection that stays open.
 * In Workers that is what one request asks: it can't carry another's.
 *
 * @param url  where the ledgers are served, http: or https:
 * @throws {RangeError} the URL or an option is out of range
 */
export type Remote = (url: string | URL, options?: RemoteOptions) => ClosableLink;

/** Makes remote() for a platform. */
export function remoteFor(outgoing: Outgoing): Remote {
  return function remote(url, options = {}) {
    requireKnown("remote", options, ["token", "durability", "timeout", "childrenMax"]);
    if (options.token !== undefined && !isToken(options.token)) {
      throw new RangeError(`token must be ${TOKEN_ALLOWED}`);
    }
    if (options.childrenMax !== undefined) requireInteger("childrenMax", options.childrenMax, 1, CHILDREN_MAX);
    const timeoutMs = toMs("timeout", options.timeout ?? "5s");
    const poster = new Poster(outgoing, endpointOf(url), options.token, timeoutMs);
    return {
      ...overLedgers,
      durability: options.durability ?? strict(),
      // Whether the served ledgers can is theirs to say.
      plans: plansOf(options.childrenMax),
      ask: (address, request) => poster.ask(address, request),
      close: async () => poster.close(),
      ...(outgoing.outlive && { outlive: outgoing.outlive }),
    };
  };
}

function endpointOf(url: string | URL): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password) {
    throw badOption("url", String(url), "an http: or https: URL without a user");
  }
  return parsed.href;
}

class Poster {
  readonly #outgoing: Outgoing;
  readonly #url: string;
  readonly #headers: Record<string, string> = { "content-type": "application/json" };
  readonly #timeoutMs: number;
  #queue: Ask[] = [];
  readonly #inFlight = new Set<AbortController>();
  #departing = false;
  #closed = false;

  constructor(outgoing: Outgoing, url: string, token: string | undefined, timeoutMs: number) {
    this.#outgoing = outgoing;
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    if (token !== undefined) this.#headers.authorization = `Bearer ${token}`;
  }

  ask(address: string, request: LedgerRequest): Promise<LedgerReply> {
    if (this.#closed) return Promise.reject(new LimiterError("closed", "the link is closed"));
    return new Promise((resolve, reject) => {
      const ask: WireAsk["asks"][number] = { address, request };
      this.#queue.push({ json: JSON.stringify(ask), resolve, reject });
      if (this.#departing) return;
      this.#departing = true;
      queueMicrotask(() => {
        this.#departing = false;
        this.#depart();
      });
    });
  }

  close(): void {
    this.#closed = true;
    const closed = new LimiterError("closed", "the link was closed");
    for (const post of this.#inFlight) post.abort(closed);
    for (const ask of this.#queue.splice(0)) ask.reject(closed);
  }

  #depart(): void {
    while (this.#queue.length > 0 && this.#inFlight.size < this.#outgoing.inFlightMax) {
      const carried = this.#carry(this.#board());
      this.#outgoing.outlive?.(carried);
    }
  }

  async #carry(asks: Ask[]): Promise<void> {
    const post = new AbortController();
    this.#inFlight.add(post);
    const late = new LimiterError("unreachable", `no answer from ${this.#url} within ${this.#timeoutMs} ms`);
    const cancel = ambient.schedule(this.#timeoutMs, () => post.abort(late));
    try {
      const replies = await this.#post(asks, post.signal);
      for (const [index, ask] of asks.entries()) ask.resolve(replies[index] as LedgerReply);
    } catch (error) {
      for (const ask of asks) ask.reject(error);
    } finally {
      cancel();
      this.#inFlight.delete(post);
      this.#depart();
    }
  }

  /** Takes the next POST's asks off the queue: at least one. */
  #board(): Ask[] {
    let chars = 0;
    let count = 0;
    for (const { json } of this.#queue.slice(0, ASKS_MAX)) {
      chars += json.length;
      if (count > 0 && chars > BODY_CHARS) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  async #post(asks: Ask[], signal: AbortSignal): Promise<LedgerReply[]> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: this.#headers,
        body: `{"v":1,"asks":[${asks.map(({ json }) => json).join(",")}]}`,
        // A redirect would take the token elsewhere.
        redirect: "manual",
        signal,
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`it answered ${response.status}: ${text.slice(0, 200)}`);
      return repliesIn(text, asks.length);
    } catch (cause) {
      if (cause instanceof LimiterError) throw cause;
      throw new LimiterError("unreachable", `no ledger at ${this.#url}: ${cause}`, { cause });
    }
  }
}

function repliesIn(text: string, count: number): LedgerReply[] {
  const body = JSON.parse(text) as { v?: unknown; replies?: LedgerReply[] } | null;
  if (body?.v !== 1) throw new LimiterError("protocol", `the server answers in version ${body?.v}; this link reads 1`);
  if (body.replies?.length !== count || !body.replies.every(isReply)) {
    throw new LimiterError("protocol", `the server's answer lacks replies to ${count} asks`);
  }
  return body.replies;
}

function isReply(reply: LedgerReply | null): boolean {
  return Array.isArray(reply?.outcomes) && reply.outcomes.every(Number.isFinite);
}
