import type { Request, Response } from "express";
import { guard, type RateLimitOptions, requireOptions } from "./guard.ts";
import { CONTENT_TYPE, type Field, writeFields } from "./headers.ts";
import { type NodeRequest, NodeSeen } from "./seen.ts";

export type { NodeRequest };

/** The part of Node's ServerResponse that is needed here. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  setHeader(name: string, value: string): unknown;
  getHeader(name: string): number | string | readonly string[] | undefined;
  end(body?: string): unknown;
}

/** Connect's kind of middleware. Express's own types fit in. */
export type Middleware<Req, Res> = (request: Req, response: Res, next: (error?: unknown) => void) => void;

/**
 * Middleware for Express 5, Connect, and whatever else calls (request, response, next).
 *
 * `onLimit` may end the response itself; if it does not, the problem is sent.
 *
 * @throws {RangeError} an option is missing, out of range or unknown
 */
export function rateLimit<Req extends NodeRequest = Request, Res extends NodeResponse = Response>(
  options: RateLimitOptions<[request: Req, response: Res], unknown>,
): Middleware<Req, Res> {
  requireOptions(options);
  const judge = guard(options);

  async function passes(request: Req, response: Res): Promise<boolean> {
    const verdict = await judge(new NodeSeen(request), [request, response]);
    if (!verdict) return true;
    const write = (fields: readonly Field[]) =>
      writeFields(
        fields,
        (name) => response.getHeader(name),
        (name, value) => response.setHeader(name, value),
      );
    if (!verdict.refused) {
      write(verdict.fields());
      return true;
    }
    const { status, fields, body } = verdict.refusal();
    response.statusCode = status;
    write(fields);
    await options.onLimit?.(verdict.decision, request, response);
    if (!response.headersSent && !response.writableEnded) {
      response.setHeader("Content-Type", CONTENT_TYPE);
      // Node leaves it out for a HEAD.
      response.end(body);
    }
    return false;
  }

  return (request, response, next) => void passes(request, response).then((passed) => passed && next(), next);
}

export * from "./shared.ts";
