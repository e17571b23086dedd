// The part of the Workers runtime's own module that is used here.
declare module "cloudflare:workers" {
  export class DurableObject {
    constructor(ctx: never, env: never);
  }
  /** Keeps the current request's work alive; missing in older runtimes. */
  export const waitUntil: ((work: Promise<unknown>) => void) | undefined;
}
