import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { problemsOf } from "../../support/command-problems.js";

const market = "ab".repeat(32);
const id = "cd".repeat(32);

const limit = {
  marketId: market,
  price: "123456",
  size: "10",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
};
const stop = {
  orderSubmission: {
    marketId: market,
    size: "10",
    side: "SIDE_SELL",
    timeInForce: "TIME_IN_FORCE_IOC",
    type: "TYPE_MARKET",
    reduceOnly: true,
  },
  price: "100",
};

describe("an order", () => {
  test.each<[string, JsonObject]>([
    ["a limit order", {}],
    ["one good till a time", { timeInForce: "TIME_IN_FORCE_GTT", expiresAt: "1700000000000000000" }],
    ["one that may only rest on the book", { postOnly: true }],
    ["one that may only reduce", { timeInForce: "TIME_IN_FORCE_FOK", reduceOnly: true }],
    ["a market order without a price", { type: "TYPE_MARKET", price: "", timeInForce: "TIME_IN_FORCE_IOC" }],
    ["an iceberg", { icebergOpts: { peakSize: "5", minimumVisibleSize: "5" } }],
    ["a pegged one without a price", { price: "", peggedOrder: { reference: "PEGGED_REFERENCE_MID", offset: "1" } }],
  ])("%s has no problem", (_, change) => {
    expect(problemsOf({ orderSubmission: { ...limit, ...change } })).toEqual([]);
  });

  test.each<[JsonObject, string]>([
    [{ marketId: "" }, "marketId is required"],
    [{ marketId: "ETHUSD" }, 'marketId must be 64 hex digits (got "ETHUSD")'],
    [{ price: "" }, "price is required for a limit order"],
    [{ price: "1.5" }, 'price must be an unsigned whole number (got "1.5")'],
    [{ price: "-1" }, 'price must be an unsigned whole number (got "-1")'],
    [{ price: "1e5" }, 'price must be an unsigned whole number (got "1e5")'],
    [{ price: "0" }, "price must be positive (got 0)"],
    [{ size: "0" }, "size must be positive (got 0)"],
    [{ side: "SIDE_UNSPECIFIED" }, "side is required"],
    [{ side: 9 }, "side must be a known value (got 9)"],
    [{ type: "TYPE_UNSPECIFIED" }, "type is required"],
    [{ type: "TYPE_NETWORK" }, "type must not be TYPE_NETWORK, which parties cannot submit"],
    [{ timeInForce: "TIME_IN_FORCE_UNSPECIFIED" }, "timeInForce is required"],
    [{ timeInForce: "TIME_IN_FORCE_GTT" }, "expiresAt is required with TIME_IN_FORCE_GTT, in Unix nanoseconds"],
    [{ expiresAt: "1" }, "expiresAt must be set only with TIME_IN_FORCE_GTT"],
    [
      { reduceOnly: true },
      "reduceOnly is valid only for non-persistent orders: TIME_IN_FORCE_IOC or TIME_IN_FORCE_FOK",
    ],
    [{ icebergOpts: { peakSize: "5" } }, "icebergOpts.minimumVisibleSize must be positive (got 0)"],
    [
      { icebergOpts: { peakSize: "5", minimumVisibleSize: "6" } },
      "icebergOpts.minimumVisibleSize must not exceed peakSize, 5",
    ],
    [{ peggedOrder: { offset: "1" } }, "peggedOrder.reference is required"],
    [
      { peggedOrder: { reference: "PEGGED_REFERENCE_BEST_ASK", offset: "1" } },
      "peggedOrder.reference must not be the best price of the other side, with which the order would trade",
    ],
    [
      { peggedOrder: { reference: "PEGGED_REFERENCE_MID", offset: "-1" } },
      'peggedOrder.offset must be an unsigned whole number (got "-1")',
    ],
  ])("%j: %s", (change, problem) => {
    expect(problemsOf({ orderSubmission: { ...limit, ...change } })).toEqual([`orderSubmission.${problem}`]);
  });

  test("a market order that may only rest on the book", () => {
    const order = { ...limit, type: "TYPE_MARKET", timeInForce: "TIME_IN_FORCE_IOC", postOnly: true };
    expect(problemsOf({ orderSubmission: order })).toEqual(["orderSubmission.postOnly is valid only for limit orders"]);
  });

  test("all problems are told at once", () => {
    expect(problemsOf({ orderSubmission: {} })).toEqual([
      "orderSubmission.marketId is required",
      "orderSubmission.side is required",
      "orderSubmission.timeInForce is required",
      "orderSubmission.type is required",
      "orderSubmission.size must be positive (got 0)",
    ]);
  });

  test("a price of digits alone will do, and none of anything else", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }).map(String), fc.string({ minLength: 1 })),
        (price) => {
          const good = /^[0-9]+$/.test(price) && BigInt(price) > 0n;
          expect(problemsOf({ orderSubmission: { ...limit, price } }).length).toBe(good ? 0 : 1);
        },
      ),
    );
  });
});

describe("a stop order", () => {
  test.each<[string, JsonObject]>([
    ["one half", { risesAbove: stop }],
    ["both halves", { risesAbove: stop, fallsBelow: { ...stop, price: "50" } }],
    ["a trailing one", { fallsBelow: { orderSubmission: stop.orderSubmission, trailingPercentOffset: "0.01" } }],
    ["one that expires", { risesAbove: { ...stop, expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_CANCELS" } }],
    [
      "one of the position's size",
      {
        risesAbove: {
          ...stop,
          sizeOverrideSetting: "SIZE_OVERRIDE_SETTING_POSITION",
          sizeOverrideValue: { percentage: "0.5" },
        },
      },
    ],
  ])("of %s has no problem", (_, submission) => {
    expect(problemsOf({ stopOrdersSubmission: submission })).toEqual([]);
  });

  const { orderSubmission } = stop;
  test.each<[JsonObject, string]>([
    [{}, " must contain risesAbove, fallsBelow or both"],
    [{ risesAbove: { orderSubmission } }, ".risesAbove.price is required without trailingPercentOffset"],
    [{ risesAbove: { price: "1" } }, ".risesAbove.orderSubmission is required"],
    [{ risesAbove: { ...stop, price: "1.5" } }, '.risesAbove.price must be an unsigned whole number (got "1.5")'],
    [
      { fallsBelow: { ...stop, orderSubmission: { ...orderSubmission, size: "0" } } },
      ".fallsBelow.orderSubmission.size must be positive (got 0)",
    ],
    [{ risesAbove: { ...stop, expiresAt: "1" } }, ".risesAbove.expiryStrategy is required with expiresAt"],
    [
      { risesAbove: { ...stop, expiresAt: "-1", expiryStrategy: "EXPIRY_STRATEGY_SUBMIT" } },
      ".risesAbove.expiresAt must be a time in Unix nanoseconds (got -1)",
    ],
    [
      { risesAbove: stop, fallsBelow: { ...stop, orderSubmission: { ...orderSubmission, marketId: id } } },
      ".fallsBelow.orderSubmission.marketId must be the market of risesAbove",
    ],
    [
      { risesAbove: { ...stop, sizeOverrideSetting: "SIZE_OVERRIDE_SETTING_POSITION" } },
      ".risesAbove.sizeOverrideValue is required with SIZE_OVERRIDE_SETTING_POSITION",
    ],
    [
      { risesAbove: { ...stop, sizeOverrideValue: { percentage: "0.5" } } },
      ".risesAbove.sizeOverrideValue must be set only with SIZE_OVERRIDE_SETTING_POSITION",
    ],
  ])("%j", (submission, problem) => {
    expect(problemsOf({ stopOrdersSubmission: submission })).toEqual([`stopOrdersSubmission${problem}`]);
  });

  test.each([
    ["0.01", true],
    [".5", true],
    ["0.999", true],
    ["0.9990", true],
    ["0.9999", false], // By commands/stop_orders_submission.go, it is a multiple of 0.001.
    ["0", false],
    ["0.0", false],
    ["1", false],
    ["1.0", false],
    ["1.5", false],
    ["-0.5", false],
    ["1%", false],
    ["0,5", false],
    [".", false],
    ["", false],
  ])("trailing at %j: %j", (trailingPercentOffset, good) => {
    const problems = problemsOf({ stopOrdersSubmission: { fallsBelow: { orderSubmission, trailingPercentOffset } } });
    expect(problems.length).toBe(good ? 0 : 1);
    expect(problems.join()).toMatch(
      good ? /^$/ : /^stopOrdersSubmission\.fallsBelow\.trailingPercentOffset (?:must|is|trailing) /,
    );
  });
});
