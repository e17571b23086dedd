import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Progress } from "../../ts/cli/progress.ts";

/** What a progress line that is updated every 50 ms for a second writes. */
function written(isTTY: boolean): string {
  let now = 1000;
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const progress = new Progress({ stdin: new PassThrough(), stdout: new PassThrough(), stderr, now: () => now });
  for (; now <= 2000; now += 50) progress.update(() => `at ${now} ${"long".repeat(50)}`);
  progress.clear();
  progress.clear();
  return String(stderr.read() ?? "");
}

test("a terminal sees one line a few times a second, cut to its width and taken away at the end", () => {
  const lines = written(true).split("\r\x1b[K");
  expect(lines.map((line) => line.slice(0, 7))).toEqual([
    "",
    "at 1200",
    "at 1400",
    "at 1600",
    "at 1800",
    "at 2000",
    "",
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBe(79);
});

test("anything else sees nothing", () => {
  expect(written(false)).toBe("");
});
