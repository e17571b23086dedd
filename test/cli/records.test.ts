import fc from "fast-check";
import { expect, test } from "vitest";
import { type Fields, readRequest, TIME_FIELDS } from "../../ts/cli/records.ts";

const BY_IP: Fields = { key: "ip", time: TIME_FIELDS };
const TIME = 1_431_857_103_000;
const STAMP = "17/May/2015:10:05:03 +0000";

/** The line stands amid others, as it does in a chunk. */
function read(line: string | Uint8Array, fields = BY_IP) {
  const before = Buffer.from(`192.0.2.1 - - [${STAMP}] "GET /before`);
  const text = Buffer.from(line);
  const all = Buffer.concat([before, text, Buffer.from(`192.0.2.2 - - [${STAMP}] "GET /behind`)]);
  return readRequest(all, before.length, before.length + text.length, fields);
}

/** As servers write them: quotes, backslashes and controls escaped. */
const quoted = fc.string({ unit: "binary" }).map((text) => JSON.stringify(text).replaceAll("\n", "\\n"));
const host = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.domain(),
  fc.constantFrom("-", "::1", "fe80::1%eth0", "::ffff:192.0.2.1", "müller.example"),
);
const user = fc.oneof(
  fc.constantFrom("-", "frank", "Frank Miller", "[admin]", "[01/Jan/2000:00:00:00 +0000]", `[${STAMP} `, "a ] b"),
  fc.stringMatching(/^[^"\n\r\0]{1,20}$/),
);

test("Common and Combined lines give host and time, whatever user, request and agent hold", () => {
  fc.assert(
    fc.property(host, user, quoted, quoted, quoted, fc.boolean(), (ip, name, request, referer, agent, combined) => {
      const line = `${ip} - ${name} [${STAMP}] ${request} 200 5120${combined ? ` ${referer} ${agent}` : ""}`;
      expect(read(line)).toEqual({ key: ip, time: TIME });
    }),
    { numRuns: 3000 },
  );
});

test("a line that ends within its request still counts, one that ends before it doesn't", () => {
  const line = `198.18.0.1 - - [${STAMP}] "GET / HTTP/1.1" 200 -`;
  const shortest = line.indexOf('"') + 1;
  for (let length = 1; length <= line.length; length++) {
    const found = read(line.slice(0, length));
    // What lies behind its end in the same chunk is not its own.
    expect(readRequest(Buffer.from(line), 0, length, BY_IP)).toEqual(found);
    if (length >= shortest) expect(found).toEqual({ key: "198.18.0.1", time: TIME });
    else expect(found).toBe("neither Common, Combined nor JSON");
  }
});

test("JSON lines give any field, nested or not, text or number", () => {
  const name = fc.stringMatching(/^[A-Za-z_@$-]{1,12}$/).filter((text) => !TIME_FIELDS.includes(text));
  const path = fc.array(name, { minLength: 1, maxLength: 4 });
  const value = fc.oneof(fc.string({ minLength: 1 }), fc.integer(), fc.boolean());
  fc.assert(
    fc.property(path, value, fc.constantFrom(...TIME_FIELDS), fc.boolean(), (names, key, timeField, flat) => {
      const nested = names.reduceRight<unknown>((inner, part) => ({ [part]: inner }), key) as object;
      const record = flat ? { [names.join(".")]: key } : nested;
      const line = JSON.stringify({ ...record, [timeField]: TIME / 1000 });
      expect(read(line, { key: names.join("."), time: TIME_FIELDS })).toEqual({ key: String(key), time: TIME });
    }),
    { numRuns: 2000 },
  );
});

test("what a JSON line lacks is said", () => {
  expect(read("{")).toBe("broken JSON");
  expect(read('{"ip":"a"}')).toBe("no time in time, timestamp, @timestamp, ts (--time names the field)");
  expect(read('{"ip":"a","time":"soon"}')).toBe("no time that can be read in time");
  expect(read(`{"time":${TIME}}`)).toBe('no field "ip" (--key names the field)');
  expect(read(`{"time":${TIME},"ip":""}`)).toBe("nothing in ip");
  expect(read(`{"time":${TIME},"ip":null}`)).toBe("no text or number in ip");
  const fields = { key: "constructor", time: TIME_FIELDS };
  expect(read(`{"time":${TIME}}`, fields), "inherited").toBe('no field "constructor" (--key names the field)');
});

test("the time of JSON lines is the field asked for, or the first that there is", () => {
  const line = `{"ip":"a","ts":1,"time":${TIME},"at":"2015-05-17T10:05:04Z"}`;
  expect(read(line)).toEqual({ key: "a", time: TIME });
  expect(read(line, { key: "ip", time: ["at"] })).toEqual({ key: "a", time: TIME + 1000 });
});

test("a field that Common lines don't have is said", () => {
  const found = read(`198.18.0.1 - - [${STAMP}] "GET /"`, { key: "user.id", time: TIME_FIELDS });
  expect(found).toBe('Common and Combined lines have no field "user.id", only ip');
});

test("blank lines are neither requests nor errors", () => {
  for (const line of ["", " ", "\t \t"]) expect(read(line)).toBe(null);
});

test("invalid UTF-8 is read, with a sign in its place", () => {
  const line = Buffer.concat([Buffer.from([0xc3, 0x28]), Buffer.from(` - - [${STAMP}] "GET /`), Buffer.from([0xff])]);
  expect(read(line)).toEqual({ key: "\ufffd(", time: TIME });
});

test("garbage never throws", () => {
  const pieces = fc.constantFrom("{", "[", STAMP, `[${STAMP}] "`, '"time":', '"ip":', "}", " ", ":", "null", "1e999");
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 200, size: "max" }),
    fc.array(fc.oneof(pieces, fc.string()), { maxLength: 12 }).map((parts) => Buffer.from(parts.join(""))),
  );
  fc.assert(
    fc.property(garbage, (bytes) => {
      const found = read(bytes);
      if (found === null || typeof found === "string") return;
      expect(found.key).not.toBe("");
      expect(Number.isInteger(found.time)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});
