import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { embedded, serveLedger } from "../../ts/hosts/node.ts";
import { lazy, reserve } from "../../ts/index.ts";
import { embeddedSuite } from "../hosts/embedded.ts";
import { servedSuite } from "../hosts/served.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-node-"));
afterAll(() => rmSync(folder, { recursive: true }));

embeddedSuite("Node", embedded, folder);
servedSuite("Node", serveLedger, embedded);

test("durabilities say what is wrong with their options", () => {
  expect(() => reserve(0)).toThrow(/chunk must be an integer in 1../);
  expect(() => lazy({ every: "soon" })).toThrow(/every must be a duration/);
});
