// The built command, run as a user runs it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const SAMPLE = fileURLToPath(new URL("../data/access-website.log", import.meta.url));
const BUCKET = "tokenBucket:rate=10,per=1m,burst=20";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const text = async (stream: AsyncIterable<Buffer>) => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const start = (args: string[], env: Record<string, string> = {}) =>
  spawn(process.execPath, [CLI, ...args], { env: { ...process.env, ...env } });

async function ended(child: ChildProcess): Promise<number | null> {
  return child.exitCode ?? new Promise((resolve) => child.once("close", resolve));
}

/** Runs to the end; `input` goes to standard input in the pieces given. */
async function sluice(
  args: string[],
  { input = [], env = {} }: { input?: Buffer[]; env?: Record<string, string> } = {},
) {
  const child = start(args, env);
  for (const piece of input) child.stdin.write(piece);
  child.stdin.end();
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended(child)]);
  return { stdout, stderr, status };
}

async function replayed(args: string[], input: Buffer[] = []) {
  const { stdout, stderr, status } = await sluice(["replay", "--json", ...args], { input });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return JSON.parse(stdout);
}

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("the sample log, 10,000 requests of which 9,448 are out of order", () => {
  const common = { requests: 10_000, skipped: 0, outOfOrder: 9448, keys: 1753 };
  const span = { from: "2015-05-17T10:05:00.000Z", to: "2015-05-20T21:05:59.000Z" };
  const bucket = { ...common, admitted: 9503, denied: 497, keysDenied: 31, ...span };

  test("under a token bucket", async () => {
    const { top, ...found } = await replayed([SAMPLE, "--policy", BUCKET]);
    expect(found).toEqual(bucket);
    expect(top.length).toBe(10);
    expect(top[0]).toEqual({ key: "2001:db8:0:489::a353", requests: 357, denied: 151 });
  });

  test("under a sliding window", async () => {
    const found = await replayed([SAMPLE, "--policy", "slidingWindow:limit=30,window=1m"]);
    expect(found).toMatchObject({ ...common, admitted: 9544, denied: 456 });
  });

  test("under a fixed window", async () => {
    const found = await replayed([SAMPLE, "--policy", "fixedWindow:limit=100,window=1h", "--top", "3"]);
    expect(found).toMatchObject({ ...common, admitted: 9992, denied: 8, top: [{ requests: 273, denied: 8 }] });
  });

  test("gives the same sorted through the disk, and leaves nothing there", async () => {
    const temporary = join(folder, "temporary");
    mkdirSync(temporary);
    const args = ["replay", SAMPLE, "--policy", BUCKET, "--json", "--top", "0", "--sort-buffer", "300"];
    const { stdout } = await sluice(args, { env: { TMPDIR: temporary } });
    expect(JSON.parse(stdout)).toEqual({ ...bucket, top: [] });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("in any form: gzip under any name, several members, standard input a few bytes at a time", async () => {
    const plain = readFileSync(SAMPLE);
    const middle = 500_000;
    const members = Buffer.concat([gzipSync(plain.subarray(0, middle)), gzipSync(plain.subarray(middle))]);
    const expected = { ...bucket, top: [] };
    const args = ["--policy", BUCKET, "--top", "0"];
    expect(await replayed([file("zipped.log", members), ...args])).toEqual(expected);
    expect(await replayed([file("plain.gz", plain), ...args])).toEqual(expected);
    const trickle = [members.subarray(0, 1), members.subarray(1, 3), members.subarray(3)];
    expect(await replayed(["-", ...args], trickle)).toEqual(expected);
    expect(await replayed(args, [plain])).toEqual(expected);
  });

  test("in files that overlap in time, and as JSON lines, decides the same", async () => {
    const lines = readFileSync(SAMPLE, "utf8").trimEnd().split("\n");
    const odd = file("odd.log", lines.filter((_, index) => index % 2 === 1).join("\r\n"));
    const even = lines
      .filter((_, index) => index % 2 === 0)
      .map((line) => {
        const [, ip, stamp] = /^(\S+) .*?\[(.*?)\]/.exec(line) ?? [];
        return JSON.stringify({ at: stamp, client: { address: ip }, status: 200 });
      });
    const json = file("even.jsonl", `\ufeff${even.join("\n\n")}`);
    const args = ["--policy", BUCKET, "--top", "0", "--time", "at"];
    const half = await replayed([json, "--key", "client.address", ...args]);
    const other = await replayed([file("even.log", lines.filter((_, i) => i % 2 === 0).join("\n")), ...args]);
    expect(half).toEqual(other);
    const { outOfOrder, ...both } = await replayed([odd, join(folder, "even.log"), ...args]);
    const first = await replayed([odd, ...args]);
    expect(outOfOrder, "counted within each file").toBe(first.outOfOrder + other.outOfOrder);
    const { outOfOrder: _, ...expected } = { ...bucket, top: [] };
    expect(both).toEqual(expected);
  });

  test("as a table of at most 80 columns", async () => {
    const { stdout } = await sluice(["replay", SAMPLE, "--policy", BUCKET, "--top", "1"]);
    expect(stdout).toBe(
      [
        "tokenBucket: 10 per 1 min, burst 20, by ip",
        "2015-05-17 10:05:00 to 2015-05-20 21:05:59 UTC (3 d 11 h)",
        "",
        "  requests              10,000",
        "  admitted               9,503   95.0 %",
        "  denied                   497    5.0 %",
        "  keys                   1,753",
        "  keys denied               31    1.8 %",
        "  out of order           9,448   94.5 %",
        "  lines skipped              0",
        "",
        "  denied most                                requests      denied",
        "  2001:db8:0:489::a353                            357         151   42.3 %",
        "",
      ].join("\n"),
    );
  });
});

describe("lines that can't be read", () => {
  const good = '{"ip":"a","time":1431857103}';

  test("are counted, and the first three shown with what would steer a terminal made harmless", async () => {
    const bad = ["\u001b[2J", good, "{", '{"ip":"a"}', "x".repeat(2_000_000), good];
    const path = file("bad.log", bad.join("\n"));
    const { stdout, stderr, status } = await sluice(["replay", path, "--policy", BUCKET, "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ requests: 2, skipped: 4, keys: 1 });
    expect(stderr.split("\n")).toEqual([
      "sluice: 4 lines skipped, the first 3:",
      `  ${path}:1: neither Common, Combined nor JSON`,
      "    \\u{1b}[2J",
      `  ${path}:3: broken JSON`,
      "    {",
      `  ${path}:4: no time in time, timestamp, @timestamp, ts (--time names the field)`,
      '    {"ip":"a"}',
      "",
    ]);
  });

  test("may be all there is, or nothing at all", async () => {
    const none = { requests: 0, outOfOrder: 0, keys: 0, admitted: 0, denied: 0, keysDenied: 0, from: null, to: null };
    const args = ["replay", "--json", "--policy", BUCKET];
    const { stdout, status } = await sluice(args, { input: [Buffer.from([0x1f, 0x00, 0xff, 0x0a])] });
    expect({ status, found: JSON.parse(stdout) }).toEqual({ status: 0, found: { ...none, skipped: 1, top: [] } });
    expect(await replayed(["--policy", BUCKET])).toEqual({ ...none, skipped: 0, top: [] });
    expect((await sluice(["replay", "--policy", BUCKET])).stdout).toMatch(/requests +0\n/);
  });

  test("a key's control characters and its length don't spoil the table", async () => {
    const key = `\u001b]0;owned\u0007${"long".repeat(50)}`;
    const line = Buffer.from(`${JSON.stringify({ ip: key, time: 1431857103 })}\n`);
    const { stdout } = await sluice(["replay", "--policy", "fixedWindow:limit=1,window=1h"], { input: [line, line] });
    expect(stdout).toContain("\\u{1b}]0;owned\\u{7}longlonglonglongl...");
    expect(Math.max(...stdout.split("\n").map((row) => row.length))).toBeLessThanOrEqual(80);
  });
});

describe("what the user can put right ends with status 2 and a word", () => {
  const cases: [name: string, args: string[], word: RegExp][] = [
    ["no command", [], /no command given/],
    ["an unknown command", ["play"], /no command "play"/],
    ["no policy", ["replay", SAMPLE], /--policy is missing, for example --policy tokenBucket:/],
    [
      "a policy of no kind",
      ["replay", SAMPLE, "--policy", "leaky:rate=1"],
      /--policy leaky:rate=1: policy kind must be/,
    ],
    ["a policy out of range", ["replay", SAMPLE, "--policy", "tokenBucket:rate=0"], /rate must be .*got 0/],
    ["an unknown option", ["replay", SAMPLE, "--policy", BUCKET, "--design", "x"], /Unknown option '--design'; see/],
    ["an option without its value", ["replay", SAMPLE, "--policy"], /--policy/],
    ["an empty key", ["replay", SAMPLE, "--policy", BUCKET, "--key", ""], /--key must name a field/],
    ["a top that is no number", ["replay", SAMPLE, "--policy", BUCKET, "--top", "x"], /--top must be .*got "x"/],
    ["a sort buffer of one", ["replay", SAMPLE, "--policy", BUCKET, "--sort-buffer", "1"], /--sort-buffer must be/],
    ["standard input twice", ["replay", "-", "-", "--policy", BUCKET], /once only/],
    ["a missing file", ["replay", SAMPLE, "none.log", "--policy", BUCKET], /none\.log: no such file/],
    ["a folder", ["replay", tmpdir(), "--policy", BUCKET], /: is a folder, not a file/],
  ];
  for (const [name, args, word] of cases) {
    test(name, async () => {
      const { stdout, stderr, status } = await sluice(args);
      expect({ stdout, status }).toEqual({ stdout: "", status: 2 });
      expect(stderr).toMatch(/^sluice: /);
      expect(stderr).toMatch(word);
      expect(stderr).not.toMatch(/\n\s+at /);
    });
  }

  test("gzip data that is cut off or damaged", async () => {
    const whole = gzipSync(readFileSync(SAMPLE));
    const cut = await sluice(["replay", file("cut.gz", whole.subarray(0, 50_000)), "--policy", BUCKET]);
    expect(cut).toMatchObject({
      stdout: "",
      status: 2,
      stderr: expect.stringMatching(/cut\.gz: the gzip data ends too early/),
    });
    const broken = Buffer.from(whole).fill(0, 20_000, 30_000);
    const damaged = await sluice(["replay", file("broken.gz", broken), "--policy", BUCKET]);
    expect(damaged).toMatchObject({
      stdout: "",
      status: 2,
      stderr: expect.stringMatching(/broken\.gz: the gzip data is damaged/),
    });
  });

  test("no room to sort in", async () => {
    const args = ["replay", SAMPLE, "--policy", BUCKET, "--sort-buffer", "100"];
    const { stdout, stderr, status } = await sluice(args, { env: { TMPDIR: join(folder, "missing") } });
    expect({ stdout, status }).toEqual({ stdout: "", status: 2 });
    expect(stderr).toMatch(/TMPDIR/);
  });
});

test("--help and --version", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  expect(await sluice(["--version"])).toEqual({ stdout: `${version}\n`, stderr: "", status: 0 });
  expect(await sluice(["--help"])).toMatchObject({ stdout: expect.stringMatching(/^Usage: sluice/), status: 0 });
  const { stdout, status } = await sluice(["replay", "--help"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Usage: sluice replay/);
  expect(Math.max(...stdout.split("\n").map((row) => row.length))).toBeLessThanOrEqual(80);
});

test("a reader that leaves early is no error", async () => {
  const many = Array.from({ length: 20_000 }, (_, i) => `{"ip":"client ${i >> 1}","time":1431857103}\n`).join("");
  const args = ["replay", file("many.log", many), "--policy", "fixedWindow:limit=1,window=1h", "--top", "10000"];
  const child = start(args);
  child.stdout.destroy();
  const [stderr, status] = await Promise.all([text(child.stderr), ended(child)]);
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
});
