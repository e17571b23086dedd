import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hmacSha256, sha256 } from "../../ts/http/sha256.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("SHA-256 is the platform's, for bytes of every length around a block's and for any text", () => {
  for (let length = 0; length <= 260; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 31 + length) & 255);
    expect(hex(sha256(bytes))).toBe(createHash("sha256").update(bytes).digest("hex"));
  }
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      expect(hex(sha256(text))).toBe(createHash("sha256").update(text, "utf8").digest("hex"));
    }),
  );
});

test("HMAC-SHA-256 is the platform's, for secrets shorter and longer than a block", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 150 }),
      fc.uint8Array({ maxLength: 200 }),
      (secret, message) => {
        expect(hex(hmacSha256(secret)(message))).toBe(createHmac("sha256", secret).update(message).digest("hex"));
      },
    ),
  );
});
