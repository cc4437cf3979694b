import { describe, expect, it } from "@jest/globals";
import {
  betweenZeroAndOne,
  both,
  fieldProblems,
  identifier,
  known,
  listProblems,
  nonEmpty,
  optional,
  positive,
  positiveDecimal,
  positiveWhole,
  type Rule,
  reference,
  specified,
  upToOne,
  whereSet,
  whole,
} from "../../../../src/trade/transaction/check/field-rules.js";

const hex = "aB".repeat(32);

/** The texts that a rule refuses, of some. */
const refused = (rule: Rule<string>, ...values: string[]) => values.filter((value) => rule(value) !== undefined);

describe("an identifier", () => {
  it("is 64 hex digits of either case", () => {
    expect(identifier(hex)).toBeUndefined();
    expect(identifier("")).toBe("is required");
    const wrong = [hex.slice(1), `${hex}0`, `0${hex}`, `${hex}\n`, `${hex.slice(1)}g`];
    expect(refused(identifier, ...wrong)).toEqual(wrong);
    expect(identifier("ETHUSD")).toBe('must be 64 hex digits (got "ETHUSD")');
  });
});

describe("a whole number", () => {
  const wrong = ["-1", "+1", "1.5", "1e5", " 1", "1 ", "1a", "a1", "0x1", "١"];

  it("is of digits alone", () => {
    expect(refused(whole, "0", "7", "007", "12345678901234567890")).toEqual([]);
    expect(refused(whole, "", ...wrong)).toEqual(["", ...wrong]);
    expect(whole("-1")).toBe('must be an unsigned whole number (got "-1")');
  });

  it("has 256 bits at most, zeros in front aside", () => {
    const largest = 2n ** 256n - 1n;
    expect(refused(whole, String(largest), `${"0".repeat(1000)}${largest}`)).toEqual([]);
    expect(whole(String(largest + 1n))).toBe("must fit into 256 bits");
    expect(positiveWhole("9".repeat(1200))).toBe("must fit into 256 bits");
  });

  it("above 0 is neither missing nor 0", () => {
    expect(refused(positiveWhole, "1", "007", "10", "100")).toEqual([]);
    expect(positiveWhole("")).toBe("is required");
    expect([positiveWhole("0"), positiveWhole("000")]).toEqual([
      "must be positive (got 0)",
      "must be positive (got 0)",
    ]);
    expect(positiveWhole("1.5")).toBe('must be an unsigned whole number (got "1.5")');
    expect(refused(positiveWhole, ...wrong)).toEqual(wrong);
  });
});

describe("a decimal number", () => {
  const right = ["1", "12", "1.", "12.25", ".5", ".25", "0.01"];
  const wrong = [".", "-1", "+1", "1.2.3", "1,5", "1e5", " 1", "1 ", "a1", "1a", "1.5a", "a.5", "a1.5"];

  it("above 0 is of digits and one point, and neither missing nor 0", () => {
    expect(refused(positiveDecimal, ...right, "10", "100.00")).toEqual([]);
    expect(refused(positiveDecimal, ...wrong)).toEqual(wrong);
    expect(["0", "00", "0.0", ".00", "0."].map(positiveDecimal)).toEqual(
      Array.from({ length: 5 }, () => "must be positive (got 0)"),
    );
    expect(positiveDecimal("")).toBe("is required");
    expect(positiveDecimal("-1")).toBe('must be a decimal number of at least 0 (got "-1")');
  });

  it("between 0 and 1 is neither of them", () => {
    expect(refused(betweenZeroAndOne, "0.5", ".5", "00.01", "0.999")).toEqual([]);
    const out = ["0", "0.0", ".", "1", "1.0", "1.5", "01.5", "10.5", "0.5a", "a0.5", "-0.5"];
    expect(refused(betweenZeroAndOne, ...out)).toEqual(out);
    expect(betweenZeroAndOne("")).toBe("is required");
    expect(betweenZeroAndOne("2")).toBe('must be a decimal number between 0 and 1, such as 0.01 for 1% (got "2")');
  });

  it("up to 1 may be 1", () => {
    expect(refused(upToOne, "0.5", ".5", "1", "01", "001", "1.", "1.0", "1.00")).toEqual([]);
    const out = ["0", "", "2", "11", "a1", "1a", "1.01", "1.0a", "1.10", "01.5"];
    expect(refused(upToOne, ...out)).toEqual(out);
    expect(upToOne("2")).toBe('must be a decimal number above 0 and at most 1 (got "2")');
  });
});

it("a number of units is above 0", () => {
  expect([positive(1n), positive(0n), positive(-3n)]).toEqual([
    undefined,
    "must be positive (got 0)",
    "must be positive (got -3)",
  ]);
});

it("a value of an enumeration is a known one, and not the unspecified one", () => {
  const colors = { UNSPECIFIED: 0, RED: 1 };
  expect([known(colors)(1), known(colors)(0), known(colors)(undefined)]).toEqual([undefined, undefined, undefined]);
  expect(known(colors)(2)).toBe("must be a known value (got 2)");
  expect([specified(0), specified(1)]).toEqual(["is required", undefined]);
});

it("a field may be left out, or has to be there", () => {
  const rule: Rule<string> = (value) => `has ${value}`;
  expect([optional(rule)(undefined), optional(rule)(""), optional(rule)("x")]).toEqual([undefined, undefined, "has x"]);
  expect([whereSet(rule)(undefined), whereSet(rule)(""), whereSet(rule)("x")]).toEqual([
    undefined,
    "must not be empty; omit it instead",
    "has x",
  ]);
  expect([nonEmpty(""), nonEmpty("x")]).toEqual(["is required", undefined]);
});

it("of two rules the first counts where both are broken", () => {
  const odd: Rule<number> = (value) => (value % 2 === 1 ? undefined : "is even");
  const small: Rule<number> = (value) => (value < 5 ? undefined : "is large");
  expect([1, 2, 7, 8].map(both(odd, small))).toEqual([undefined, "is even", "is large", "is even"]);
});

it("a reference has at most 100 characters, however they are encoded", () => {
  expect(["", "x".repeat(100), "😀".repeat(100)].map(reference)).toEqual([undefined, undefined, undefined]);
  expect(reference("x".repeat(101))).toBe("must have at most 100 characters (got 101)");
});

it("the problems of a message and of a list have their paths", () => {
  const message = { marketId: "", price: "1", side: 0 };
  expect([...fieldProblems(message, { marketId: identifier, price: positiveWhole, side: specified }, "order")]).toEqual(
    [
      { path: "order.marketId", message: "is required" },
      { path: "order.side", message: "is required" },
    ],
  );
  const problems = (each: typeof message, at: string) => fieldProblems(each, { price: whole }, at);
  expect([...listProblems([message, { ...message, price: "x" }], "orders", problems)]).toEqual([
    { path: "orders[1].price", message: 'must be an unsigned whole number (got "x")' },
  ]);
});
