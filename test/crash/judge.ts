// Judges a host from outside: what it acknowledged before it was killed must be true afterwards.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Decision } from "../../ts/contract.ts";
import type { LedgerReply, LedgerRequest } from "../../ts/ledger/messages.ts";
import { seeded } from "../support/fake-ambient.ts";

/** A host process, and everything that it started. */
export interface Host {
  url: string;
  /** SIGKILL to the whole process group; resolves when it is gone. */
  kill(): Promise<void>;
}

export function startHost(script: string, folder: string): Promise<Host> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [path, folder], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const kill = () => {
    process.kill(-(child.pid as number), "SIGKILL");
    return gone;
  };
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
      const url = /^ready (\S+)$/m.exec(said)?.[1];
      if (url) resolve({ url, kill });
    });
    void gone.then(() => reject(new Error(`${script} ended before it was ready: ${said}`)));
  });
}

/** What one budget's callers saw. */
export interface Tally {
  /** Admits that were acknowledged, in rounds that ended by a kill and in the last one. */
  acknowledged: number;
  acknowledgedBeforeKills: number;
  /** Calls that a kill left without an answer. */
  unanswered: number;
  refused: number;
  strange: Decision[];
}

export interface Verdict {
  tallies: Record<string, Tally>;
  /** Requests that were answered otherwise when they were repeated after the crash. */
  changedReplies: number;
  /** What the ledger of the repeated requests has left. */
  left: number;
  rounds: number;
}

const CALLERS = 8;
const BUCKET = { kind: "tokenBucket", rate: 1, per: 365 * 86_400_000, burst: 1000 } as const;

/** Kills the host in mid-load, round after round; the last round ends when all is refused. */
export async function judge(script: string, folder: string, rounds: number, seed: number): Promise<Verdict> {
  const random = seeded(seed);
  const modes = ["strict", "reserve", "lazy"];
  const tallies: Record<string, Tally> = Object.fromEntries(
    modes.map((mode) => [
      mode,
      { acknowledged: 0, acknowledgedBeforeKills: 0, unanswered: 0, refused: 0, strange: [] },
    ]),
  );
  let changedReplies = 0;
  let before: { request: LedgerRequest; reply: LedgerReply } | null = null;
  for (let round = 1; round <= rounds + 1; round++) {
    const host = await startHost(script, folder);
    const ask = async (request: LedgerRequest) => {
      const response = await fetch(new URL("ask", host.url), { method: "POST", body: JSON.stringify(request) });
      return (await response.json()) as LedgerReply;
    };
    if (before && JSON.stringify(await ask(before.request)) !== JSON.stringify(before.reply)) changedReplies++;
    const request: LedgerRequest = { v: 1, holder: "judge", seq: round, policies: [BUCKET], ops: [0, 1, 0, 2] };
    before = { request, reply: await ask(request) };
    const last = round > rounds;
    const admitsUntilKill = last ? Number.POSITIVE_INFINITY : 20 + Math.floor(random() * 100);
    await load(host, tallies, modes, admitsUntilKill);
    if (!last) continue;
    const looked = await ask({ ...request, holder: "looker", ops: [1, 1] });
    await host.kill();
    return { tallies, changedReplies, left: looked.outcomes[1] as number, rounds };
  }
  throw new Error("unreachable");
}

/** Calls from all sides until so many were admitted, then kills; or until all is refused. */
async function load(host: Host, tallies: Record<string, Tally>, modes: string[], admitsUntilKill: number) {
  let admits = 0;
  let killed: Promise<void> | null = null;
  const call = async (mode: string, tally: Tally): Promise<boolean> => {
    try {
      const response = await fetch(new URL(`take?mode=${mode}`, host.url));
      const decision = (await response.json()) as Decision;
      if (decision.reason !== "ok" && decision.reason !== "limited") tally.strange.push(decision);
      if (!decision.success) {
        tally.refused++;
        return false;
      }
      tally.acknowledged++;
      if (Number.isFinite(admitsUntilKill)) tally.acknowledgedBeforeKills++;
      if (++admits >= admitsUntilKill) killed ??= host.kill();
      return true;
    } catch {
      tally.unanswered++;
      return false;
    }
  };
  const callers = modes.flatMap((mode) =>
    Array.from({ length: CALLERS }, async () => {
      const tally = tallies[mode] as Tally;
      while (await call(mode, tally)) if (killed) break;
    }),
  );
  await Promise.all(callers);
  // All refused before so many were admitted: the round ends by a kill all the same.
  if (Number.isFinite(admitsUntilKill)) await (killed ?? host.kill());
}
