import fc from "fast-check";
import { expect, test } from "vitest";
import { Rounds } from "../../ts/link/rounds.ts";
import { FakeAmbient } from "../support/fake-ambient.ts";

const PAUSE = 1000;

/** When something is used, and for how long it is there from then on. */
const uses = fc.array(
  fc.record({ gapMs: fc.oneof(fc.nat(3000), fc.nat(30_000)), lastsMs: fc.integer({ min: 2 * PAUSE, max: 40_000 }) }),
  {
    minLength: 1,
    maxLength: 20,
  },
);

test.each([
  ["where timers live on", false],
  ["where they live on the request that set them", true],
])("whatever is used is worked on within two pauses: %s", async (_, outlives) => {
  await fc.assert(
    fc.asyncProperty(uses, async (uses) => {
      const ambient = new FakeAmbient();
      const worked: number[] = [];
      let until = 0;
      const rounds = new Rounds({
        ambient,
        pauseMs: PAUSE,
        work: (now) => void worked.push(now),
        isNeeded: () => ambient.now() < until,
        outlive: outlives ? () => {} : undefined,
      });
      const used: number[] = [];
      for (const { gapMs, lastsMs } of uses) {
        await ambient.pass(gapMs);
        until = Math.max(until, ambient.now() + lastsMs);
        used.push(ambient.now());
        rounds.keepUp(ambient.now());
      }
      await ambient.pass(2 * PAUSE);
      for (const at of used) expect(worked.some((then) => then >= at && then <= at + 2 * PAUSE)).toBe(true);
      // And no more often than that, but for the first use after a stop.
      const close = worked.filter((then, nth) => nth > 0 && then - (worked[nth - 1] as number) < PAUSE);
      expect(close.length).toBeLessThanOrEqual(used.length);
      rounds.stop();
      expect(ambient.waiting).toBe(0);
    }),
  );
});
