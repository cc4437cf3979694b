import { describe, expect, it } from "@jest/globals";
import { decodeHex, encodeHex } from "../../../src/trade/transaction/crypto.js";

describe("hex digits", () => {
  it("are two for each byte, in lower case", () => {
    expect(encodeHex(Uint8Array.of(0, 1, 0xab, 0xff))).toBe("0001abff");
    expect(encodeHex(Uint8Array.of(1, 2, 3, 4).subarray(1, 3))).toBe("0203");
  });

  it("are read in either case", () => {
    expect(decodeHex("0001aBFf", 4)).toEqual(Uint8Array.of(0, 1, 0xab, 0xff));
    expect(decodeHex("", 0)).toEqual(new Uint8Array());
  });

  it.each(["ab", "abcdef", "abc", "abcg", "gabc", "ab c", "0xab", ""])("of two bytes are not %j", (text) => {
    expect(decodeHex(text, 2)).toBeUndefined();
  });
});
