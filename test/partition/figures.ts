// What the runs are in numbers, a row for each. Where one PoP is spoken of, it is the busy one.
import { BUCKET, BUDGETS, POLICIES } from "./budgets.ts";
import { certainOvershoot } from "./judge.ts";
import { admitted, type Call, tokens } from "./load.ts";
import { FAULTS, type FaultName, heardAt, type Seen } from "./run.ts";

const HEAD = [
  "fault",
  "bucket admitted",
  "over any limit",
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
    const alone = during.filter(({ decision }) => decision?.success && decision.source !== "ledger");
    const cutOff = FAULTS[fault].cutOff.length > 0;
    const over = BUDGETS.map((budget) => certainOvershoot(POLICIES[budget].spec, admitted(calls, budget)));
    const bucket = admitted(calls, "bucket");
    const { burst, rate } = BUCKET;
    const lastedMs = Math.max(...calls.map(({ end }) => end)) - Math.min(...calls.map(({ start }) => start));
    const envelope = burst + (rate * lastedMs) / 1000;
    const heard = heardAt(
      calls.filter(({ pop }) => pop === 0),
      overAt,
    );
    const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
    this.#rows.push([
      fault,
      `${tokens(bucket)} of ${Math.floor(envelope)}`,
      String(Math.max(0, ...over)),
      cutOff ? `${tokens(alone)} in ${alone.length} calls` : "",
      cutOff ? ms(Math.max(0, ...alone.map(({ end }) => end - begunAt))) : "",
      ms(Math.max(...BUDGETS.map((budget) => heard.get(`0 ${budget}`) ?? Number.NaN)) - overAt),
      ms(quantile(during, 0.5)),
      ms(quantile(during, 0.99)),
      String(charged - tokens(admitted(calls, "finite"))),
    ]);
  }

  table(): string {
    const rows = [HEAD, ...this.#rows];
    const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length)));
    const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] as number)).join("  "));
    return lines.join("\n");
  }
}

function quantile(calls: readonly Call[], share: number): number {
  const took = calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return took[Math.floor(share * (took.length - 1))] ?? 0;
}
