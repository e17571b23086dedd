// The part of the Workers runtime's own module that is used here.
declare module "cloudflare:workers" {
  export class DurableObject {
    constructor(ctx: never, env: never);
  }
}
