// Middleware for frameworks of Node's kind: (request, response, next), where a handler goes on by
// calling next, and fails by calling it with an error.
import { guard, type RateLimitOptions, type Verdict } from "./guard.ts";
import { CONTENT_TYPE, type Field } from "./headers.ts";
import { isPromise, type Maybe } from "./maybe.ts";
import { type NodeRequest, NodeSeen } from "./seen.ts";

/** What differs between them. */
export interface Framework<Req, Res> {
  raw(request: Req): NodeRequest;
  getHeader(response: Res, name: string): unknown;
  setHeader(response: Res, name: string, value: string): void;
  setStatus(response: Res, status: number): void;
  isSent(response: Res): boolean;
  send(response: Res, body: string): void;
}

type Next = (error?: unknown) => void;

/** @throws {RangeError} an option is missing or out of range */
export function byCallback<Req, Res>(
  framework: Framework<Req, Res>,
  options: RateLimitOptions<[request: Req, response: Res], unknown>,
): (request: Req, response: Res, next: Next) => void {
  const judge = guard(options);

  const write = (response: Res, fields: readonly Field[]): void => {
    for (const { name, value, list } of fields) {
      const before = list ? framework.getHeader(response, name) : undefined;
      const alone = before === undefined || before === null || before === "";
      framework.setHeader(response, name, alone ? value : `${before}, ${value}`);
    }
  };
  const refuse = async (request: Req, response: Res, verdict: Verdict): Promise<false> => {
    const { status, fields, body } = verdict.refusal();
    framework.setStatus(response, status);
    write(response, fields);
    await options.onLimit?.(verdict.decision, request, response);
    if (!framework.isSent(response)) {
      framework.setHeader(response, "content-type", CONTENT_TYPE);
      framework.send(response, body);
    }
    return false;
  };
  const passes = (request: Req, response: Res, verdict: Verdict | null): Maybe<boolean> => {
    if (verdict?.refused) return refuse(request, response, verdict);
    if (verdict) write(response, verdict.fields());
    return true;
  };

  return (request, response, next) => {
    let passed: Maybe<boolean>;
    try {
      const verdict = judge(new NodeSeen(framework.raw(request)), [request, response]);
      passed = isPromise(verdict)
        ? verdict.then((it) => passes(request, response, it))
        : passes(request, response, verdict);
    } catch (error) {
      fail(error, next);
      return;
    }
    // Not within the try: what next throws is not this middleware's failure.
    if (isPromise(passed)) {
      passed.then(
        (it) => it && next(),
        (error) => fail(error, next),
      );
    } else if (passed) next();
  };
}

/** An empty error would look like none, and let the request pass. */
function fail(error: unknown, next: Next): void {
  next(error || new Error("the limiter failed without an error"));
}
