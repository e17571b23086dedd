// The sample origin behind the limiter.
export default {
  fetch: () => new Response("hello from the origin\n"),
};
