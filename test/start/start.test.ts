// What `npm start` starts, as a person uses it: a process, an address, many requests at once.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const state = mkdtempSync(join(tmpdir(), "sluice-start-"));
const running = new Set<ChildProcess>();

afterAll(() => {
  // With all that they have started, which a failed test may have left behind.
  for (const child of running) process.kill(-(child.pid as number), "SIGKILL");
  rmSync(state, { recursive: true, force: true });
});

interface Ended {
  code: number | null;
  output: string;
}

const direct = (args: string[]) =>
  spawn(process.execPath, ["scripts/start.mjs", ...args], { cwd: root, detached: true });

/** Starts it with `args`; `address` comes with its first words, `ended` when it exits. */
function start(args: string[], run = direct): { child: ChildProcess; address: Promise<string>; ended: Promise<Ended> } {
  const child = run(args);
  running.add(child);
  let output = "";
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code) => {
      running.delete(child);
      resolve({ code, output });
    });
  });
  const address = new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk;
      const found = /address\s+(http:\S+)[\s\S]*Ctrl-C/.exec(output);
      if (found) resolve(found[1] as string);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    void ended.then(({ output }) => reject(new Error(`it ended without an address:\n${output}`)));
  });
  address.catch(() => {});
  return { child, address, ended };
}

// A rate that brings nothing back while the test runs.
const SLOW = ["--port", "0", "--policy", "tokenBucket:rate=1,per=1d,burst=20", "--state", state];
const from = (client: string) => ({ headers: { "cf-connecting-ip": client } });
const statuses = (responses: Response[]) => responses.map(({ status }) => status).sort();
const many = (count: number, status: number) => Array.from({ length: count }, () => status);

describe("npm start", () => {
  test("admits exactly the burst of 25 requests at once, and keeps count over a restart", async () => {
    const first = start(SLOW);
    const address = await first.address;
    const responses = await Promise.all(Array.from({ length: 25 }, () => fetch(address, from("192.0.2.1"))));
    expect(statuses(responses)).toEqual([...many(20, 200), ...many(5, 429)]);

    const admitted = responses.find(({ status }) => status === 200) as Response;
    expect(await admitted.text()).toBe("hello from the origin\n");
    expect(admitted.headers.get("ratelimit-policy")).toMatch(/^"demo";q=20;w=\d+;pk=:.+:$/);
    expect(admitted.headers.get("ratelimit")).toMatch(/^"demo";r=\d+;t=\d+;pk=:.+:$/);
    const denied = responses.find(({ status }) => status === 429) as Response;
    expect(denied.headers.get("content-type")).toBe("application/problem+json");
    expect(denied.headers.get("cache-control")).toBe("no-store");
    expect(await denied.json()).toMatchObject({ status: 429, title: "Quota Exceeded" });
    const retryAfter = Number(denied.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThan(86_000);
    expect(retryAfter).toBeLessThanOrEqual(86_400);

    expect((await fetch(address, from("192.0.2.2"))).status).toBe(200);
    first.child.kill("SIGINT");
    expect((await first.ended).code).toBe(0);

    const second = start(SLOW);
    const again = await second.address;
    expect((await fetch(again, from("192.0.2.1"))).status).toBe(429);
    const rest = await Promise.all(Array.from({ length: 25 }, () => fetch(again, from("192.0.2.2"))));
    expect(statuses(rest)).toEqual([...many(19, 200), ...many(6, 429)]);
    second.child.kill("SIGTERM");
    expect((await second.ended).code).toBe(0);
  });

  test("leaves no runtime behind, and says so when the runtime dies", async () => {
    const { child, address, ended } = start(SLOW);
    const url = await address;
    const runtimes = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(child.pid)], { encoding: "utf8" });
    const pid = Number(/^\s*(\d+) .*workerd/m.exec(runtimes)?.[1]);
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, "SIGKILL");
    const { code, output } = await ended;
    expect(code).toBe(1);
    expect(output).toContain("start: the Workers runtime has stopped");
    await expect(fetch(url)).rejects.toThrow();
  });

  test("ends with the npm that started it", async () => {
    const shell = (args: string[]) => {
      const command = `"${process.execPath}" scripts/start.mjs "$@"; exit`;
      const env = { ...process.env, npm_lifecycle_event: "start" };
      return spawn("sh", ["-c", command, "sh", ...args], { cwd: root, env, detached: true });
    };
    const { child, address, ended } = start(SLOW, shell);
    await address;
    child.kill("SIGTERM");
    // Only when all that could still write to its output are gone, the runtime too.
    await ended;
    await expect(fetch(await address)).rejects.toThrow();
  });

  test("keeps a folder of budgets to itself", async () => {
    const first = start(SLOW);
    await first.address;
    const second = await start(SLOW).ended;
    expect(second.code).toBe(1);
    expect(second.output.trim()).toMatch(
      /^start: the budgets in \S+ are in use by another npm start; choose .*FOLDER$/,
    );
    first.child.kill("SIGTERM");
    await first.ended;
  });

  test("says in a line what is wrong", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const cases: [string[], RegExp][] = [
      [["--port", String(port)], /^start: port \d+ is in use; choose another with --port N$/],
      [["--port", "99999"], /^start: --port must be a whole number in 0\.\.65535; got "99999"$/],
      [["--policy", "tokenBucket:rate=0"], /^start: --policy: rate must be an integer in 1\.\..*; got 0$/],
      [["--policy", "leakyBucket:rate=1"], /^start: --policy: policy kind must be tokenBucket, .*; got "leakyBucket"$/],
      [["--prot", "1"], /^start: Unknown option '--prot'; try --help$/],
    ];
    const ended = await Promise.all(cases.map(([args]) => start(args).ended));
    for (const [nth, [, expected]] of cases.entries()) {
      expect(ended[nth]?.output.trim()).toMatch(expected);
      expect(ended[nth]?.code).toBe(1);
    }
    server.close();
  });
});
