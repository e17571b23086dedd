import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Policy } from "../../ts/contract.ts";
import { instantiate } from "../../ts/core/instantiate.ts";
import { fixedWindow, LimiterError, slidingWindow, tokenBucket } from "../../ts/index.ts";
import { CasKeeper, type CasRead, type CasStore } from "../../ts/ledger/cas-keeper.ts";
import type { LedgerRequest } from "../../ts/ledger/messages.ts";
import type { HolderState, LedgerState } from "../../ts/ledger/state.ts";
import { envelope } from "../../ts/policies/envelope.ts";
import { FakeAmbient, seeded, settle } from "../support/fake-ambient.ts";

interface Stored {
  version: number;
  state: LedgerState | null;
  holders: Map<string, HolderState>;
}
type Mark = { address: string; version: number };

/** A store that many share: each call takes a while, and some writes fail or only seem to. */
class SharedStore implements CasStore<Mark> {
  readonly holdersMax = 4;
  readonly keys = new Map<string, Stored>();
  /** When each request that was stored had been decided, by holder and seq. */
  readonly decidedAt = new Map<string, number>();
  conflicts = 0;
  readonly #ambient: FakeAmbient;
  readonly #random: () => number;
  readonly #faults: number;

  constructor(ambient: FakeAmbient, random: () => number, faults: number) {
    this.#ambient = ambient;
    this.#random = random;
    this.#faults = faults;
  }

  async read(address: string, holders: readonly string[]): Promise<CasRead<Mark>> {
    await this.#delay();
    const key = this.keys.get(address);
    const known = holders.flatMap((id): [string, HolderState][] => {
      const holder = key?.holders.get(id);
      return holder ? [[id, holder]] : [];
    });
    await this.#delay();
    return { state: key?.state ?? null, holders: known, mark: { address, version: key?.version ?? 0 } };
  }

  async write({ address, version }: Mark, change: Parameters<CasStore<Mark>["write"]>[1]): Promise<boolean> {
    const now = this.#ambient.now();
    await this.#delay();
    const fate = this.#random();
    if (fate < this.#faults / 2) throw new Error("lost");
    const key = this.keys.get(address) ?? { version: 0, state: null, holders: new Map() };
    if (key.version !== version) {
      this.conflicts++;
      return false;
    }
    for (const [id, holder] of change.holders) {
      key.holders.set(id, holder);
      this.decidedAt.set(`${id}:${holder.seq}`, now);
    }
    this.keys.set(address, { version: version + 1, state: change.state, holders: key.holders });
    if (fate < this.#faults) throw new Error("in doubt");
    return true;
  }

  #delay(): Promise<void> {
    return new Promise((resolve) => void this.#ambient.schedule(Math.floor(this.#random() * 20), resolve));
  }
}

function keeperOn(store: SharedStore, ambient: FakeAmbient, random: () => number, aheadMs: number) {
  return new CasKeeper({
    store,
    now: () => ambient.now() + aheadMs,
    pause: (failed) => new Promise((resolve) => void ambient.schedule(Math.floor(random() * 2 ** failed), resolve)),
    instantiate,
  });
}

const policies: Policy[] = [
  tokenBucket({ rate: 20, per: 1000, burst: 8 }),
  slidingWindow({ limit: 12, window: 1000 }),
  fixedWindow({ limit: 12, window: 1000 }),
];

/** Most that was admitted within any interval of that length, beyond what is allowed; ≤ 0 is well. */
function excess(times: number[], policy: Policy, skewMs: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const [first, from] of times.entries()) {
    for (let last = first; last < times.length; last++) {
      const allowed = envelope(policy, (times[last] as number) - from + skewMs);
      most = Math.max(most, last - first + 1 - allowed);
    }
  }
  return most;
}

describe("keepers that share a store", () => {
  for (const policy of policies) {
    test(`admit no more than the policy over an interval and their clocks' difference: ${policy.kind}`, async () => {
      let conflicts = 0;
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.constantFrom(0, 200), async (seed, skewMs) => {
          const random = seeded(seed);
          const ambient = new FakeAmbient(1_000_000, random);
          const store = new SharedStore(ambient, random, 0.1);
          const keepers = [0, skewMs, Math.floor(random() * skewMs)].map((ms) => keeperOn(store, ambient, random, ms));
          const admittedAt: number[] = [];
          const call = async (holder: string, seq: number) => {
            const request: LedgerRequest = { v: 1, holder, seq, policies: [policy.spec], ops: [0, 1] };
            for (let attempt = 0; attempt < 4; attempt++) {
              // A retry may come to another isolate.
              const keeper = keepers[Math.floor(random() * keepers.length)] as (typeof keepers)[number];
              const reply = await keeper.ask("key", request).catch((error: LimiterError) => error);
              if (reply instanceof LimiterError) continue;
              if (reply.outcomes[0] === 1) admittedAt.push(store.decidedAt.get(`${holder}:${seq}`) as number);
              return;
            }
          };
          for (let round = 0; round < 60; round++) {
            void call(`h${Math.floor(random() * 1000)}-${round}`, 1);
            if (random() < 0.4) await ambient.pass(Math.floor(random() * 100));
          }
          await ambient.pass(20_000);
          await settle();
          conflicts += store.conflicts;
          expect(
            excess(
              admittedAt.sort((a, b) => a - b),
              policy,
              skewMs,
            ),
          ).toBeLessThanOrEqual(0);
          expect(admittedAt.length).toBeGreaterThan(0);
        }),
        { numRuns: 60 },
      );
      expect(conflicts).toBeGreaterThan(0);
    });
  }

  test("give up on a key that others keep changing, and say so", async () => {
    const ambient = new FakeAmbient(1000);
    const store = new SharedStore(ambient, () => 0.5, 0);
    const keeper = keeperOn(Object.assign(store, { write: async () => false }), ambient, () => 0, 0);
    const { spec } = policies[0] as Policy;
    const asked = keeper.ask("key", { v: 1, holder: "h", seq: 1, policies: [spec], ops: [0, 1] });
    const failed = expect(asked).rejects.toThrow(/others changed the key at each of 16 attempts/);
    await ambient.pass(10_000);
    await failed;
    keeper.close();
    await expect(keeper.ask("key", {} as never)).rejects.toThrow(LimiterError);
  });
});
