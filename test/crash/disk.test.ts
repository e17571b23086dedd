// A disk that is full, or read-only: a real one, of a few hundred kB. Only root can make one.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Decision, Limiter } from "../../ts/contract.ts";
import { embedded } from "../../ts/hosts/node.ts";
import {
  createLimiter,
  type Durability,
  exact,
  LimiterError,
  lazy,
  reserve,
  strict,
  tokenBucket,
} from "../../ts/index.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-disk-"));
const filler = join(folder, "filler");
const mount = (...args: string[]) => execFileSync("mount", [...args, folder], { stdio: "pipe" });
const mounted = mountDisk();

afterAll(() => {
  if (mounted) execFileSync("umount", [folder]);
  rmdirSync(folder);
});

function mountDisk(): boolean {
  try {
    mount("-t", "tmpfs", "-o", "size=400k", "tmpfs");
    return true;
  } catch {
    return false;
  }
}

/** Fills the disk to the last byte. */
function fill(): void {
  for (let bytes = 1 << 20; bytes >= 1; bytes >>= 1) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // No room for so many; perhaps for half.
    }
  }
}

/** Asks until the ledger answers again: the breaker pauses after failures. */
async function answered(limiter: Limiter): Promise<Decision> {
  for (;;) {
    const decision = await limiter.limit("key");
    if (decision.reason !== "unreachable") return decision;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function limiterOver(name: string, durability: Durability) {
  const link = embedded({ path: join(folder, `${name}.db`), durability });
  const errors: string[] = [];
  const limiter = createLimiter({
    policy: tokenBucket({ rate: 1, per: "365d", burst: 1000 }),
    design: exact(),
    link,
    onUnreachable: "deny",
    deadline: "100ms",
    onError: (error) => errors.push(String(error)),
  });
  return { link, limiter, errors };
}

describe.runIf(mounted)("a disk that is full", () => {
  test("strict: decides nothing and says why, and goes on where it was when there is room", async () => {
    const { link, limiter, errors } = limiterOver("strict", strict());
    const { remaining } = await limiter.limit("key", { cost: 5 });
    fill();
    const refused = await limiter.limit("key", { cost: 7 });
    expect(refused).toMatchObject({ success: false, reason: "unreachable", source: "fallback" });
    expect(errors[0]).toMatch(/full/i);
    rmSync(filler);
    // The refused call was not charged, however often it was tried.
    expect(await answered(limiter)).toMatchObject({ success: true, remaining: remaining - 1 });
    await limiter.close();
    await link.close();
    const again = limiterOver("strict", strict());
    expect(await again.limiter.peek("key")).toMatchObject({ remaining: remaining - 1 });
    await again.link.close();
  });

  test("reserve: goes on within its chunk, and loses no more than that", async () => {
    const { link, limiter } = limiterOver("reserve", reserve(10));
    const { remaining } = await limiter.limit("key");
    fill();
    let admitted = 0;
    while ((await limiter.limit("key")).success) admitted++;
    expect(admitted).toBe(10);
    rmSync(filler);
    const { remaining: left } = await answered(limiter);
    expect(left).toBeLessThanOrEqual(remaining - admitted - 1);
    expect(left).toBeGreaterThanOrEqual(remaining - admitted - 1 - 10);
    await link.close();
  });

  test("lazy: no answer leaves without a commit once one has failed", async () => {
    const { link, limiter, errors } = limiterOver("lazy", lazy({ every: "1ms" }));
    const { remaining } = await limiter.limit("key");
    fill();
    let promised = 0;
    while ((await limiter.limit("key")).success) {
      promised++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(promised).toBeGreaterThan(0);
    expect(errors[0]).toMatch(/full/i);
    rmSync(filler);
    const { remaining: left } = await answered(limiter);
    expect(left).toBeLessThanOrEqual(remaining - promised - 1);
    await link.close();
  });
});

describe.runIf(mounted)("a disk that is read-only", () => {
  test("is refused at once with a clear error, and taken when it can be written again", async () => {
    const { link, limiter } = limiterOver("readonly", strict());
    const { remaining } = await limiter.limit("key");
    await link.close();
    mount("-o", "remount,ro");
    expect(() => limiterOver("readonly", strict())).toThrow(
      /ledger file .*readonly\.db can't be opened: .*(readonly|I\/O error)/i,
    );
    expect(() => limiterOver("new", strict())).toThrow(LimiterError);
    mount("-o", "remount,rw");
    const again = limiterOver("readonly", strict());
    expect(await again.limiter.limit("key")).toMatchObject({ success: true, remaining: remaining - 1 });
    await again.link.close();
  });
});
