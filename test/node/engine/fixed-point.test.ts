import { expect, test } from "@jest/globals";
import { divideRounded, divideUp, parseFixedPoint, timesPowerOfTen } from "../../../src/node/engine/fixed-point.js";

test.each([
  ["1.25", 3, 1250n],
  ["-1.25", 1, -12n],
  [".5", 1, 5n],
  ["7.", 2, 700n],
  ["12", 0, 12n],
  ["0.0002", 18, 200_000_000_000_000n],
  ["", 3, 0n],
  ["no number", 3, 0n],
])("%p with %p decimals", (text, decimals, value) => {
  expect(parseFixedPoint(text, decimals)).toBe(value);
});

test("rounding is to the nearest, up, or down", () => {
  expect([5n, -5n, 4n, -4n, 15n].map((value) => divideRounded(value, 10n))).toEqual([1n, -1n, 0n, 0n, 2n]);
  expect([0n, 1n, 10n, 11n].map((value) => divideUp(value, 10n))).toEqual([0n, 1n, 1n, 2n]);
  expect([19n, -1n, -10n, -11n].map((value) => timesPowerOfTen(value, -1))).toEqual([1n, -1n, -1n, -2n]);
  expect(timesPowerOfTen(-3n, 2)).toBe(-300n);
});
