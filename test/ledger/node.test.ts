import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
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

test("Node's server outlives what is hardly HTTP", async () => {
  const link = embedded();
  const server = await serveLedger({ link });
  const head = "host: x\r\ncontent-type: application/json\r\n";
  for (const raw of [
    `POST // HTTP/1.1\r\n${head}content-length: 2\r\n\r\n{}`,
    `TRACE / HTTP/1.1\r\n${head}\r\n`,
    `CONNECT x:1 HTTP/1.1\r\n${head}\r\n`,
    `POST / HTTP/1.1\r\n${head}set-cookie: a\r\nset-cookie: b\r\ncontent-length: 9\r\n\r\n{`,
    "nonsense\r\n\r\n",
  ]) {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.end(raw);
    socket.resume();
    await once(socket, "close");
  }
  const { status } = await fetch(`http://127.0.0.1:${server.port}//`);
  expect(status).toBe(405);
  await server.close();
  await link.close();
});
