import { describe, expect, test } from "vitest";
import { type Call, isLinearizable } from "../support/linearizable.ts";

const call = (kind: Call["kind"], amount: number, start: number, end: number, answer: Call["answer"]): Call => ({
  kind,
  amount,
  start,
  end,
  answer,
});
const yes = (remaining: number | null) => ({ success: true, remaining });
const no = (remaining: number | null) => ({ success: false, remaining });

describe("the checker takes", () => {
  test.each<[string, Call[]]>([
    [
      "calls one after the other",
      [call("take", 2, 1, 2, yes(1)), call("take", 2, 3, 4, no(1)), call("take", 1, 5, 6, yes(0))],
    ],
    ["overlapping calls in either order", [call("take", 2, 1, 4, yes(0)), call("take", 1, 2, 3, yes(2))]],
    [
      "a call without an answer that happened late",
      [call("take", 3, 1, Number.POSITIVE_INFINITY, null), call("peek", 1, 2, 3, yes(3)), call("peek", 1, 4, 5, no(0))],
    ],
    ["one that never happened", [call("take", 3, 1, Number.POSITIVE_INFINITY, null), call("take", 3, 2, 3, yes(0))]],
    [
      "refunds and resets",
      [call("take", 3, 1, 2, yes(0)), call("refund", 2, 3, 4, yes(2)), call("reset", 1, 5, 6, yes(3))],
    ],
  ])("%s", (_, history) => {
    expect(isLinearizable(history, 3)).toBe(true);
  });
});

describe("the checker refuses", () => {
  test.each<[string, Call[]]>([
    ["more than the limit", [call("take", 2, 1, 4, yes(1)), call("take", 2, 2, 3, yes(1))]],
    ["a stale answer", [call("take", 2, 1, 2, yes(1)), call("peek", 1, 3, 4, yes(3))]],
    ["a refusal while enough was left", [call("take", 1, 1, 2, yes(2)), call("take", 2, 3, 4, no(null))]],
    ["a charge that nobody asked for", [call("take", 1, 1, 2, yes(2)), call("peek", 1, 3, 4, yes(1))]],
    ["an answer before its time", [call("peek", 1, 1, 2, yes(1)), call("take", 2, 3, 4, yes(1))]],
  ])("%s", (_, history) => {
    expect(isLinearizable(history, 3)).toBe(false);
  });
});
