import { writeFileSync } from "node:fs";
import { test } from "vitest";
import { run } from "./run.ts";

test("dbg", async () => {
  const seen = await run({ fault: process.env.FAULT as never, design: "lease:ttl=2s", deadline: "1s", seed: 1 });
  const { calls, begunAt, endedAt } = seen;
  let out = "";
  for (const c of [...calls].sort((a, b) => a.start - b.start))
    if (c.pop === 0 && c.budget === "bucket")
      out += `${c.start - begunAt} ${c.end - begunAt} cost ${c.cost} ${c.decision?.source} ${c.decision?.reason} ${c.decision?.remaining} retry ${c.decision?.retryAfterMs}\n`;
  out += `ended ${endedAt - begunAt} rec ${seen.recoveredMs}`;
  writeFileSync("/tmp/dbg.txt", out);
}, 60000);
