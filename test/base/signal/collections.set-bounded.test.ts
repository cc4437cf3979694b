import { expect, test } from "@jest/globals";
import { setBounded } from "../../../src/base/signal/collections.js";

test("a map keeps its newest entries, and tells which one it has lost", () => {
  const map = new Map<string, number>();
  expect(["a", "b", "c"].map((key, value) => setBounded(map, key, value, 2))).toEqual([undefined, undefined, "a"]);
  expect([...map]).toEqual([
    ["b", 1],
    ["c", 2],
  ]);
});

test("an entry that is set again takes no place of another, and keeps its own", () => {
  const map = new Map([
    ["a", 0],
    ["b", 1],
  ]);
  expect(setBounded(map, "a", 2, 2)).toBeUndefined();
  expect(setBounded(map, "c", 3, 2)).toBe("a");
});
