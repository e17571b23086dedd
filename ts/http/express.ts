import type { Request, Response } from "express";
import { byCallback } from "./callback.ts";
import { type RateLimitOptions, requireOptions } from "./guard.ts";
import type { NodeRequest } from "./seen.ts";

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
  return byCallback<Req, Res>(
    {
      raw: (request) => request,
      getHeader: (response, name) => response.getHeader(name),
      setHeader: (response, name, value) => void response.setHeader(name, value),
      setStatus(response, status) {
        response.statusCode = status;
      },
      isSent: (response) => response.headersSent || response.writableEnded,
      // Node leaves the body out for a HEAD.
      send: (response, body) => void response.end(body),
    },
    options,
  );
}

export * from "./shared.ts";
