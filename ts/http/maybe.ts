// Most requests are decided with nothing to wait for, and a promise would cost them more than the
// decision does. So what may be a promise is awaited only if it is one.

export type Maybe<T> = T | Promise<T>;

function isPromise<T>(value: Maybe<T>): value is Promise<T> {
  return typeof (value as Promise<T> | null | undefined)?.then === "function";
}

/** What `next` makes of `value`: at once, unless it has to be waited for. */
export function after<T, U>(value: Maybe<T>, next: (value: T) => Maybe<U>): Maybe<U> {
  return isPromise(value) ? value.then(next) : next(value);
}

/**
 * For frameworks that go on by a callback: calls `next` if `attempt` says so, or with what it
 * throws. Never more than once, and what `next` itself throws is not caught.
 */
export function goOn(attempt: () => Maybe<boolean>, next: (error?: unknown) => void): void {
  // An empty error would look like none, and let the request pass.
  const fail = (error: unknown) => next(error || new Error("the limiter failed without an error"));
  let passed: Maybe<boolean>;
  try {
    passed = attempt();
  } catch (error) {
    fail(error);
    return;
  }
  if (isPromise(passed)) void passed.then((value) => value && next(), fail);
  else if (passed) next();
}
