// Home and its PoPs, each a workerd process, and a way between each two that can fail.
import { TcpProxy } from "../support/tcp-proxy.ts";
import { WorkerdProcess } from "../support/workerd-process.ts";
import type { Budget } from "./budgets.ts";

const TOKEN = "a-token-of-the-tests";

export interface FleetOptions {
  pops: number;
  /** Like "lease:ttl=2s". */
  design: string;
  deadline: string;
}

export interface Pop {
  process: WorkerdProcess;
  /** Its way to home. */
  way: TcpProxy;
}

export class Fleet {
  readonly home: WorkerdProcess;
  readonly pops: readonly Pop[];

  private constructor(home: WorkerdProcess, pops: readonly Pop[]) {
    this.home = home;
    this.pops = pops;
  }

  static async start({ pops, design, deadline }: FleetOptions): Promise<Fleet> {
    const ledgers = await WorkerdProcess.start({
      entry: "test/partition/home.ts",
      env: { TOKEN },
      objects: { LEDGER: "LedgerObject" },
    });
    const starting = Array.from({ length: pops }, async () => {
      const way = await TcpProxy.start(ledgers.port);
      const home = `http://127.0.0.1:${way.port}/`;
      const env = { TOKEN, HOME: home, DESIGN: design, DEADLINE: deadline, POPS: String(pops + 1) };
      return { process: await WorkerdProcess.start({ entry: "test/partition/pop.ts", env }), way };
    });
    return new Fleet(ledgers, await Promise.all(starting));
  }

  /** Starts home again after a kill, and leads all ways there. */
  async restartHome(): Promise<void> {
    await this.home.start();
    for (const { way } of this.pops) way.target = this.home.port;
  }

  /** What a PoP answers to anything but a call. */
  async ask<T>(nth: number, path: string, budget?: Budget, query = ""): Promise<T> {
    const response = await fetch(`${this.pops[nth]?.process.url}/${path}?budget=${budget}&${query}`);
    if (!response.ok) throw new Error(`PoP ${nth} answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  async dispose(): Promise<void> {
    await Promise.all([this.home.dispose(), ...this.pops.map(({ process }) => process.dispose())]);
    await Promise.all(this.pops.map(({ way }) => way.close()));
  }
}
