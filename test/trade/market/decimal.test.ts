import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { formatDecimal, parseDecimal, RequestError } from "tradewire";
import { failureOf } from "../../support/listing-clients.js";

const decimals = fc.integer({ min: -12, max: 40 });
const units = fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n });
/** A number in text, with trailing and leading zeros, too. */
const texts = fc
  .tuple(fc.constantFrom("", "-"), fc.stringMatching(/^[0-9]{1,30}$/), fc.stringMatching(/^[0-9]{0,30}$/))
  .map(([sign, integer, fraction]) => `${sign}${integer}${fraction === "" ? "" : `.${fraction}`}`);

/** The digits of a number without zeros that do not matter: equal for equal numbers. */
const canonical = (text: string) => {
  const [integer = "", fraction = ""] = text.replace("-", "").split(".");
  const number = `${integer.replace(/^0+(?=.)/, "")}.${fraction.replace(/0+$/, "")}`.replace(/\.$/, "");
  return text.startsWith("-") && number !== "0" ? `-${number}` : number;
};

describe("decimal numbers", () => {
  it.each([
    ["1.2345", 5, 123450n],
    ["1.2345000", 4, 12345n],
    ["0", 3, 0n],
    ["-0.000", 0, 0n],
    ["-7", 2, -700n],
    ["00012.5", 1, 125n],
    ["12300", -2, 123n],
    ["0", -2, 0n],
    ["100.00", -2, 1n],
  ])("%s with %d decimals is %d units", (text, places, expected) => {
    expect(parseDecimal(text, places)).toBe(expected);
  });

  it.each([
    [123450n, 5, "1.2345"],
    ["5", 3, "0.005"],
    ["-5", 3, "-0.005"],
    [0n, 18, "0"],
    [-12300n, 2, "-123"],
    [123n, -2, "12300"],
    ["0007", 0, "7"],
  ])("%s units with %d decimals are %s", (value, places, expected) => {
    expect(formatDecimal(value, places)).toBe(expected);
  });

  it("are the same units again after they were formatted", () => {
    fc.assert(
      fc.property(units, decimals, (value, places) => {
        expect(parseDecimal(formatDecimal(value, places), places)).toBe(value);
      }),
    );
  });

  it("are the same number again where they are accepted, and would be another where they are refused", async () => {
    await fc.assert(
      fc.asyncProperty(texts, decimals, async (text, places) => {
        const [, fraction = ""] = canonical(text).split(".");
        const zeros = /^-?[1-9]\d*?(0*)$/.exec(canonical(text))?.[1]?.length ?? (canonical(text) === "0" ? 99 : 0);
        const isExact = fraction.length <= Math.max(places, 0) && (places >= 0 || zeros >= -places);
        if (isExact) {
          expect(canonical(formatDecimal(parseDecimal(text, places), places))).toBe(canonical(text));
          return;
        }
        const error = await failureOf(() => parseDecimal(text, places));
        expect(error).toBeInstanceOf(RequestError);
        const [, below = "", above = ""] = /Use (\S+), .* or (\S+), the/.exec(String(error)) ?? [];
        expect(parseDecimal(above, places) - parseDecimal(below, places)).toBe(1n);
        // Both compared in units so small that nothing is lost.
        const exact = (number: string) => parseDecimal(number, 60);
        expect(exact(below) < exact(text) && exact(text) < exact(above)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("that would have to be rounded are refused, with the nearest that would not", () => {
    expect(() => parseDecimal("1.23456", 4)).toThrow(
      'text must have at most 4 decimals (got "1.23456")\n' +
        "Use 1.2345, the nearest below, or 1.2346, the nearest above.",
    );
    expect(() => parseDecimal("-1.23456", 4)).toThrow("Use -1.2346, the nearest below, or -1.2345, the nearest above.");
    expect(() => parseDecimal("12345", -2)).toThrow(
      'text must have at most -2 decimals, in steps of 100 (got "12345")\n' +
        "Use 12300, the nearest below, or 12400, the nearest above.",
    );
  });

  it.each([
    "",
    " 1",
    "1 ",
    "1\n",
    "+1",
    ".5",
    "5.",
    "1e3",
    "0x1f",
    "1,5",
    "1_000",
    "--1",
    "1.2.3",
    "NaN",
    "Infinity",
    "١",
  ])("%j is no decimal number", (text) => {
    expect(() => parseDecimal(text, 2)).toThrow(
      /^text must be a decimal number as a string, such as "123\.45" \(got ".*"\)$/m,
    );
  });

  it.each([1.5, 1n, null, undefined, ["1"], { toString: () => "1" }])("%p is refused, as it is no text", (value) => {
    expect(() => Reflect.apply(parseDecimal, undefined, [value, 2])).toThrow(RequestError);
  });

  it.each([1.5, 0.1, "1.5", "1e3", "", null, undefined])("%p is refused as units", (value) => {
    expect(() => Reflect.apply(formatDecimal, undefined, [value, 2])).toThrow(
      /^units must be a bigint, or a string of digits \(got .*\)$/m,
    );
  });

  it.each([256, -256, 1e9, 0.5, Number.NaN, "2"])(
    "%p is refused as a number of decimals, before anything is computed",
    (value) => {
      for (const convert of [parseDecimal, formatDecimal]) {
        expect(() => Reflect.apply(convert, undefined, ["1", value])).toThrow(
          /^decimals must be a whole number from -255 to 255 \(got .*\)$/m,
        );
      }
    },
  );

  it("of more than 1000 characters are refused, whoever sends them", () => {
    expect(parseDecimal("9".repeat(1000), 255) % 10n).toBe(0n);
    expect(() => parseDecimal("9".repeat(1001), 2)).toThrow(RequestError);
    expect(() => formatDecimal("9".repeat(1001), 2)).toThrow(RequestError);
  });
});
