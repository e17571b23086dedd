/** What a key may be made of in any framework: what the server itself has seen of a request. */
export interface Seen {
  readonly method: string;
  /** Whether this request came by Cloudflare's Workers, so that Cloudflare's own headers are true. */
  readonly onWorkers: boolean;
  /** A header's value; several of one name are joined by commas, in their order. */
  header(name: string): string | null;
  /** The address of the connection's other end, where the platform tells. */
  peer(): string | undefined;
}

/** Where platforms put a connection's other end: in what they pass beside a fetch-style request. */
interface Beside {
  /** Bun: the server. */
  requestIP?(request: Request): { address: string } | null;
  /** Deno. */
  remoteAddr?: { hostname?: string };
  /** Hono on Node. */
  incoming?: { socket?: { remoteAddress?: string } };
}

/** A fetch-style request, with whatever the platform passed beside it. */
export class FetchSeen implements Seen {
  readonly #request: Request;
  readonly #beside: Beside | null;

  constructor(request: Request, beside: unknown) {
    this.#request = request;
    this.#beside = typeof beside === "object" ? (beside as Beside | null) : null;
  }

  get method(): string {
    return this.#request.method;
  }

  // Only Cloudflare gives requests this property: no client and no header can. A workerd of one's
  // own leaves it out, and there the header is anyone's.
  get onWorkers(): boolean {
    const { cf } = this.#request as { cf?: unknown };
    return typeof cf === "object" && cf !== null;
  }

  header(name: string): string | null {
    return this.#request.headers.get(name);
  }

  peer(): string | undefined {
    const beside = this.#beside;
    if (typeof beside?.requestIP === "function") return beside.requestIP(this.#request)?.address;
    return beside?.incoming?.socket?.remoteAddress ?? beside?.remoteAddr?.hostname;
  }
}

/** The part of Node's IncomingMessage that is needed here; Express and Fastify pass it on. */
export interface NodeRequest {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  socket?: { remoteAddress?: string | undefined } | undefined;
}

/** A request of Node's http server. */
export class NodeSeen implements Seen {
  readonly onWorkers = false;
  readonly #request: NodeRequest;

  constructor(request: NodeRequest) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }

  header(name: string): string | null {
    const value = this.#request.headers[name.toLowerCase()];
    return (Array.isArray(value) ? value.join(", ") : value) ?? null;
  }

  peer(): string | undefined {
    return this.#request.socket?.remoteAddress;
  }
}
