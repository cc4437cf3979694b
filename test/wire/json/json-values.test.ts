import { describe, expect, it } from "@jest/globals";
import { decodeUtf8, isJsonObject } from "../../../src/wire/json/json-values.js";

describe("decodeUtf8", () => {
  it("refuses what is not UTF-8", () => {
    expect(decodeUtf8(Buffer.from("é🦊"))).toBe("é🦊");
    expect(() => decodeUtf8(Buffer.from("é").subarray(0, 1))).toThrow(expect.objectContaining({ name: "TypeError" }));
  });
});

describe("isJsonObject", () => {
  it("tells objects from arrays, null and the rest", () => {
    expect(isJsonObject({})).toBe(true);
    for (const other of [[], null, "a", 1, true, undefined]) {
      expect(isJsonObject(other)).toBe(false);
    }
  });
});
