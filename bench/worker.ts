// The suite inside workerd: what the client posts are its options.
import { runSuite } from "./suite.ts";

export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(await runSuite("workerd", await request.json(), () => {}));
  },
};
