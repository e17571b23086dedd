import type { Request, Response } from "express";
import { guard, type RateLimitOptions, requireOptions, type Verdict } from "./guard.ts";
import { CONTENT_TYPE, type Field, writeFields } from "./headers.ts";
import { after, goOn } from "./maybe.ts";
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

  const write = (response: Res, fields: readonly Field[]) =>
    writeFields(
      fields,
      (name) => response.getHeader(name),
      (name, value) => response.setHeader(name, value),
    );
  const pass = (response: Res, verdict: Verdict | null): boolean => {
    if (verdict) write(response, verdict.fields());
    return true;
  };
  const refuse = async (request: Req, response: Res, verdict: Verdict): Promise<boolean> => {
    const { status, fields, body } = verdict.refusal();
    response.statusCode = status;
    write(response, fields);
    await options.onLimit?.(verdict.decision, request, response);
    if (!response.headersSent && !response.writableEnded) {
      response.setHeader("Content-Type", CONTENT_TYPE);
      // Node leaves it out for a HEAD.
      response.end(body);
    }
    return false;
  };
  return (request, response, next) =>
    goOn(
      () =>
        after(judge(new NodeSeen(request), [request, response]), (verdict) =>
          verdict?.refused ? refuse(request, response, verdict) : pass(response, verdict),
        ),
      next,
    );
}

export * from "./shared.ts";
