import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { embedded } from "../../ts/hosts/node.ts";
import { ledgerHandler } from "../../ts/hosts/remote.ts";

test("the examples in docs/wire.md are what a ledger answers", async () => {
  const doc = readFileSync(new URL("../../docs/wire.md", import.meta.url), "utf8");
  const [ask, reply] = [...doc.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text as string));
  const link = embedded();
  const handle = ledgerHandler({ link, token: "a-token-of-16-or-more" });
  const headers = { "content-type": "application/json", authorization: "Bearer a-token-of-16-or-more" };
  const post = () => handle(new Request("http://h/", { method: "POST", headers, body: JSON.stringify(ask) }));
  expect(await (await post()).json()).toEqual(reply);
  // A retry gets the same.
  expect(await (await post()).json()).toEqual(reply);
  await link.close();
});
