// What a run is in numbers, one row for each fault.
import { BUDGETS, POLICIES } from "./budgets.ts";
import { certainOvershoot } from "./judge.ts";
import type { Call } from "./load.ts";
import { FAULTS, type FaultName, heardAt, type Seen } from "./run.ts";

const HEAD = [
  "fault",
  "calls",
  "over the limit",
  "admitted alone",
  "for at most",
  "recovered after",
  "p50",
  "p99",
  "tokens lost",
];

export class Figures {
  readonly #rows: string[][] = [];

  add(fault: FaultName, { calls, begunAt, endedAt, overAt, charged }: Seen): void {
    const during = calls.filter(({ pop, start, end }) => pop === 0 && start > begunAt && end < endedAt);
    const alone = during.filter(({ decision }) => decision?.success && decision.source === "lease");
    const cutOff = FAULTS[fault].cutOff.length > 0;
    const over = BUDGETS.map((budget) =>
      certainOvershoot(
        POLICIES[budget].spec,
        calls.filter((call) => call.budget === budget && call.decision?.success),
      ),
    );
    const heard = heardAt(
      calls.filter(({ pop }) => pop === 0),
      overAt,
    );
    const told = calls.filter(({ budget, decision }) => budget === "finite" && decision?.success);
    const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
    this.#rows.push([
      fault,
      String(calls.length),
      String(Math.max(0, ...over)),
      cutOff ? `${tokens(alone)} in ${alone.length} calls` : "",
      cutOff ? ms(Math.max(0, ...alone.map(({ end }) => end - begunAt))) : "",
      ms(Math.max(...BUDGETS.map((budget) => heard.get(`0 ${budget}`) ?? Number.NaN)) - overAt),
      ms(quantile(during, 0.5)),
      ms(quantile(during, 0.99)),
      String(charged - tokens(told)),
    ]);
  }

  table(design: string): string {
    const rows = [HEAD, ...this.#rows];
    const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length)));
    const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] as number)).join("  "));
    return [`${design}, of the busy PoP that is cut off:`, ...lines].join("\n");
  }
}

const tokens = (calls: readonly Call[]) => calls.reduce((sum, { cost }) => sum + cost, 0);

function quantile(calls: readonly Call[], share: number): number {
  const took = calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return took[Math.floor(share * (took.length - 1))] ?? 0;
}
