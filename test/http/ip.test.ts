import { isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatIp, masked, parseHost, parseIp } from "../../ts/http/ip.ts";

/** Bits of an address, by another road: as one big number. */
function bits(ip: readonly number[]): string {
  return ip.map((word) => word.toString(2).padStart(16, "0")).join("");
}

const v6 = fc.ipV6();
const v4 = fc.ipV4();
/** Text that is nearly an address. */
const nearly = fc
  .array(fc.constantFrom(":", "::", ".", "1", "0", "ffff", "255", "256", "01", "g", "%1", " ", "12345", "192.0.2.1"), {
    maxLength: 12,
  })
  .map((parts) => parts.join(""));

describe("parseIp", () => {
  test("takes the addresses that the platform takes, and no others", () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6, nearly), (text) => {
        expect(parseIp(text) !== null, text).toBe(isIPv4(text) || (isIPv6(text) && !text.includes("%")));
      }),
      { numRuns: 5000 },
    );
  });

  // RFC 4291, section 2.2: "::" stands for one group or more, and comes once.
  test("takes no :: where all groups are there", () => {
    for (const text of ["1:2:3:4::5:6:7:8", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6::192.0.2.1", "1::2::3", ":::"]) {
      expect(parseIp(text), text).toBeNull();
    }
    expect(formatIp(parseIp("1:2:3:4:5:6:7::") as number[])).toBe("1:2:3:4:5:6:7:0");
  });

  test("formats IPv6 as the URL standard does, which follows RFC 5952", () => {
    fc.assert(
      fc.property(v6, (text) => {
        const ip = parseIp(text) as readonly number[];
        fc.pre(ip.length === 8);
        expect(`[${formatIp(ip)}]`).toBe(new URL(`http://[${text}]`).hostname);
      }),
      { numRuns: 2000 },
    );
  });

  test("every way to write an address is one address", () => {
    for (const same of [
      ["2001:db8::1", "2001:DB8:0:0::1", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::0.0.0.1"],
      ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"],
      ["::", "0::0", "0:0:0:0:0:0:0:0", "::0.0.0.0"],
    ]) {
      expect(new Set(same.map((text) => formatIp(parseIp(text) as readonly number[]))).size).toBe(1);
    }
  });

  // RFC 5952, sections 4.2.2 and 4.2.3.
  test("shortens no single zero group, and the first of equal runs", () => {
    expect(formatIp(parseIp("2001:db8:0:1:1:1:1:1") as number[])).toBe("2001:db8:0:1:1:1:1:1");
    expect(formatIp(parseIp("2001:db8:0:0:1:0:0:1") as number[])).toBe("2001:db8::1:0:0:1");
  });
});

describe("parseHost", () => {
  test("strips ports, brackets, zones and blanks", () => {
    for (const [text, ip] of [
      ["192.0.2.1:443", "192.0.2.1"],
      [" 192.0.2.1 ", "192.0.2.1"],
      ["[2001:db8::1]:443", "2001:db8::1"],
      ["[2001:db8::1]", "2001:db8::1"],
      ["fe80::1%eth0", "fe80::1"],
      ["[fe80::1%25eth0]:80", "fe80::1"],
      ["[::ffff:192.0.2.1]:80", "192.0.2.1"],
    ] as const) {
      expect(formatIp(parseHost(text) as number[])).toBe(ip);
    }
  });

  test("takes nothing else", () => {
    for (const text of [
      "",
      "unknown",
      "_hidden",
      "192.0.2.1:",
      "192.0.2.1:http",
      "192.0.2.1:123456",
      "[192.0.2.1]",
      "[2001:db8::1",
      "2001:db8::1]:80",
      "192.0.2.1%eth0",
      "010.0.0.1",
      "1.2.3",
      "0x7f.1",
      "1.2.3.4.5",
      "1.2.3.4\r\nx: y",
      "٣.1.1.1",
    ]) {
      expect(parseHost(text), text).toBeNull();
    }
  });

  test("never throws, and never takes long", () => {
    fc.assert(
      fc.property(fc.oneof(nearly, fc.string({ unit: "binary", maxLength: 500 })), (text) => void parseHost(text)),
    );
    expect(parseHost(":".repeat(1e6))).toBeNull();
    expect(parseHost("1".repeat(1e6))).toBeNull();
  });
});

test("masked keeps the first bits and no others", () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6), fc.nat(128), (text, count) => {
      const ip = parseIp(text) as readonly number[];
      const width = 16 * ip.length;
      const kept = Math.min(count, width);
      expect(bits(masked(ip, kept))).toBe(bits(ip).slice(0, kept).padEnd(width, "0"));
    }),
  );
});
