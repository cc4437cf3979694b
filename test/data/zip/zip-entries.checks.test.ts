import { describe, expect, it } from "@jest/globals";
import { checkContiguous, checkHeader } from "../../../src/data/zip/zip-entries.js";

const rawName = Buffer.from("a.csv");
const measures = { compressedSize: 3, size: 3, crc32: 7 };
const listed = { name: "a.csv", rawName, method: "stored", offset: 0, ...measures } as const;
const header = { name: "a.csv", rawName: Buffer.from("a.csv"), method: "stored", offset: 0, measures } as const;

describe("checkHeader", () => {
  it("accepts the header of the file that is listed", () => {
    expect(() => checkHeader(header, listed)).not.toThrow();
    expect(() => checkHeader({ ...header, offset: 9, measures: undefined }, listed)).not.toThrow();
  });

  it.each([
    ["name", { name: "b.csv" }],
    ["bytes of the name", { rawName: Buffer.from("b.csv") }],
    ["method", { method: "deflate" as const }],
  ])("refuses another %s", (_, other) => {
    expect(() => checkHeader({ ...header, ...other }, listed)).toThrow(
      'the archive is corrupt: the header of "a.csv" does not match the directory',
    );
  });
});

describe("checkContiguous", () => {
  it("accepts an entry where the one before it ended, and no other", () => {
    expect(() => checkContiguous(5, 5)).not.toThrow();
    for (const [by, at] of [
      [5, 4],
      [4, 5],
    ] as const) {
      expect(() => checkContiguous(by, at)).toThrow(
        `the part at byte ${at} should start at ${by} according to the directory`,
      );
    }
  });
});
