import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { ledgerHandler } from "../../ts/hosts/remote.ts";
import type { WireReply } from "../../ts/hosts/wire.ts";

const doc = readFileSync(new URL("../../docs/wire.md", import.meta.url), "utf8");
const examples = [...doc.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text as string));

/** `reply` without its lease's resetMs, which is shorter by the time between two requests. */
function timeless({ replies, ...rest }: WireReply) {
  return { ...rest, replies: replies.map((reply) => ({ ...reply, lease: { ...reply.lease, resetMs: 0 } })) };
}
const resetsMs = ({ replies }: WireReply) => replies.map(({ lease }) => lease?.resetMs ?? 0);

test("the examples in docs/wire.md are what a ledger answers", async () => {
  const link = embedded();
  const handle = ledgerHandler({ link, token: "a-token-of-16-or-more" });
  const headers = { "content-type": "application/json", authorization: "Bearer a-token-of-16-or-more" };
  const post = async (ask: unknown): Promise<WireReply> =>
    (await handle(new Request("http://h/", { method: "POST", headers, body: JSON.stringify(ask) }))).json();

  expect(examples.length).toBe(6);
  for (let at = 0; at < examples.length; at += 2) {
    const [ask, told] = examples.slice(at, at + 2);
    const reply = await post(ask);
    expect(timeless(reply)).toEqual(timeless(told));
    for (const [nth, resetMs] of resetsMs(reply).entries()) {
      expect(resetMs).toBeLessThanOrEqual(resetsMs(told)[nth] as number);
      expect(resetMs).toBeGreaterThan((resetsMs(told)[nth] as number) - 60_000);
    }
    // A retry gets the same.
    expect(await post(ask)).toEqual(reply);
  }
  await link.close();
});
