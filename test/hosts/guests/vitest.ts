// Stands in for vitest inside other runtimes: the same expect, and a runner that prints a line of
// JSON for each case. Bundled with a guest in place of "vitest" itself; see ../guest.ts.
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from "@vitest/expect";
import * as chai from "chai";

type Body = () => unknown;
type Vitest = typeof import("vitest");

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

const globals = globalThis as unknown as Record<symbol, object>;
export const expect = Object.assign(
  (value: unknown) => chai.expect(value),
  globals[ASYMMETRIC_MATCHERS_OBJECT],
) as unknown as Vitest["expect"];
globals[GLOBAL_EXPECT] = expect;
setState({ assertionCalls: 0 }, expect);

const cases: { name: string; body: Body }[] = [];
const lasts: Body[] = [];
const path: string[] = [];

export function describe(name: string, body: Body): void {
  path.push(name);
  body();
  path.pop();
}

export function test(name: string, body: Body): void {
  cases.push({ name: [...path, name].join(" > "), body });
}

export function afterAll(body: Body): void {
  lasts.unshift(body);
}

/** Runs what the guest has declared, one case after the other. */
export async function run(): Promise<void> {
  for (const { name, body } of cases) {
    let error: string | undefined;
    try {
      await body();
    } catch (thrown) {
      error = thrown instanceof Error ? `${thrown.message}\n${thrown.stack}` : String(thrown);
    }
    console.log(JSON.stringify({ name, error }));
  }
  for (const last of lasts) await last();
  console.log(JSON.stringify({ done: cases.length }));
}
