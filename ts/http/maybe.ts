// Most requests are decided with nothing to wait for, and a promise would cost them more than the
// decision does. So what may be a promise is awaited only if it is one, as in
// `isPromise(value) ? value.then((it) => next(it)) : next(value)`; that makes no function otherwise.

export type Maybe<T> = T | Promise<T>;

export function isPromise<T>(value: Maybe<T>): value is Promise<T> {
  return typeof (value as Promise<T> | null | undefined)?.then === "function";
}
