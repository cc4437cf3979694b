import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import {
  StopOrdersCancellationSchema,
  StopOrdersSubmissionSchema,
} from "tradewire/gen/vega/commands/v1/commands_pb.js";
import {
  stopOrdersCancellationProblems,
  stopOrdersProblems,
} from "../../../../src/trade/transaction/check/order-commands.js";

const id = "ab".repeat(32);
const otherId = "cd".repeat(32);
const orderSubmission = {
  marketId: id,
  size: "10",
  side: "SIDE_SELL",
  timeInForce: "TIME_IN_FORCE_IOC",
  type: "TYPE_MARKET",
  reduceOnly: true,
};
const stop = { orderSubmission, price: "100" };
const lines = (problems: Iterable<{ path: string; message: string }>) =>
  [...problems].map(({ path, message }) => `${path} ${message}`);
const submission = (json: JsonObject) =>
  lines(stopOrdersProblems(fromJson(StopOrdersSubmissionSchema, json), "stopOrders"));
const cancellation = (json: JsonObject) =>
  lines(stopOrdersCancellationProblems(fromJson(StopOrdersCancellationSchema, json), "cancellation"));

describe("a submission of stop orders", () => {
  it("holds one half at least", () => {
    const problem = "stopOrders must contain risesAbove, fallsBelow or both";
    expect(submission({})).toEqual([problem]);
    expect(submission({ risesAbove: stop })).toEqual([]);
    expect(submission({ fallsBelow: stop })).toEqual([]);
    expect(submission({ risesAbove: stop, fallsBelow: stop })).toEqual([]);
  });

  it("has the problems of both halves, at their paths", () => {
    const halves = { risesAbove: { ...stop, price: "0" }, fallsBelow: { ...stop, price: "x" } };
    expect(submission(halves)).toEqual([
      "stopOrders.risesAbove.price must be positive (got 0)",
      'stopOrders.fallsBelow.price must be an unsigned whole number (got "x")',
    ]);
  });

  it("as a pair is not submitted at its expiry", () => {
    const cancels = { ...stop, expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_CANCELS" };
    const submits = { ...stop, expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_SUBMIT" };
    const message = "expiryStrategy must not be EXPIRY_STRATEGY_SUBMIT in a pair";
    expect(submission({ risesAbove: submits })).toEqual([]);
    expect(submission({ fallsBelow: submits })).toEqual([]);
    expect(submission({ risesAbove: cancels, fallsBelow: cancels })).toEqual([]);
    expect(submission({ risesAbove: submits, fallsBelow: cancels })).toEqual([`stopOrders.risesAbove.${message}`]);
    expect(submission({ risesAbove: stop, fallsBelow: submits })).toEqual([`stopOrders.fallsBelow.${message}`]);
    expect(submission({ risesAbove: submits, fallsBelow: submits })).toEqual([
      `stopOrders.risesAbove.${message}`,
      `stopOrders.fallsBelow.${message}`,
    ]);
  });

  it("as a pair is of one market", () => {
    const elsewhere = { ...stop, orderSubmission: { ...orderSubmission, marketId: otherId } };
    expect(submission({ risesAbove: elsewhere, fallsBelow: elsewhere })).toEqual([]);
    expect(submission({ risesAbove: stop, fallsBelow: elsewhere })).toEqual([
      "stopOrders.fallsBelow.orderSubmission.marketId must be the market of risesAbove",
    ]);
    const withoutOrder = { price: "100" };
    expect(submission({ risesAbove: withoutOrder, fallsBelow: stop })).toEqual([
      "stopOrders.risesAbove.orderSubmission is required",
    ]);
    expect(submission({ risesAbove: stop, fallsBelow: withoutOrder })).toEqual([
      "stopOrders.fallsBelow.orderSubmission is required",
    ]);
  });
});

describe("a stop order", () => {
  it.each<[JsonObject]>([
    [{ price: "1" }],
    [{ expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_CANCELS" }],
    [{ expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_SUBMIT" }],
    [{ expiryStrategy: "EXPIRY_STRATEGY_UNSPECIFIED" }],
    [{ sizeOverrideSetting: "SIZE_OVERRIDE_SETTING_UNSPECIFIED" }],
    [{ sizeOverrideSetting: "SIZE_OVERRIDE_SETTING_NONE" }],
  ])("may have %j", (change) => {
    expect(submission({ fallsBelow: { ...stop, ...change } })).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{ price: "" }, "price is required"],
    [{ price: "0" }, "price must be positive (got 0)"],
    [{ price: "1.5" }, 'price must be an unsigned whole number (got "1.5")'],
    [{ orderSubmission: null }, "orderSubmission is required"],
    [{ orderSubmission: { ...orderSubmission, marketId: "" } }, "orderSubmission.marketId is required"],
    [{ orderSubmission: { ...orderSubmission, size: "0" } }, "orderSubmission.size must be positive (got 0)"],
    [{ expiryStrategy: 9 }, "expiryStrategy must be a known value (got 9)"],
    [{ sizeOverrideSetting: 9 }, "sizeOverrideSetting must be a known value (got 9)"],
    [
      { expiresAt: "0", expiryStrategy: "EXPIRY_STRATEGY_CANCELS" },
      "expiresAt must be a time in Unix nanoseconds (got 0)",
    ],
    [
      { expiresAt: "-1", expiryStrategy: "EXPIRY_STRATEGY_SUBMIT" },
      "expiresAt must be a time in Unix nanoseconds (got -1)",
    ],
    [{ expiresAt: "1" }, "expiryStrategy is required with expiresAt"],
    [{ expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_UNSPECIFIED" }, "expiryStrategy is required with expiresAt"],
  ])("with %j is refused: %s", (change, problem) => {
    expect(submission({ fallsBelow: { ...stop, ...change } })).toEqual([`stopOrders.fallsBelow.${problem}`]);
  });

  it("is triggered at a price or at a trailing offset between 0 and 1", () => {
    const trailing = (trailingPercentOffset: string) =>
      submission({ risesAbove: { orderSubmission, trailingPercentOffset } });
    const at = "stopOrders.risesAbove";
    const range = "must be a decimal number between 0 and 1, such as 0.01 for 1%";
    expect(submission({ risesAbove: { orderSubmission } })).toEqual([
      `${at}.price is required without trailingPercentOffset`,
    ]);
    expect([trailing("0.000001"), trailing("0.999999")]).toEqual([[], []]);
    expect(trailing("")).toEqual([`${at}.trailingPercentOffset is required`]);
    expect(trailing("0")).toEqual([`${at}.trailingPercentOffset ${range} (got "0")`]);
    expect(trailing("1")).toEqual([`${at}.trailingPercentOffset ${range} (got "1")`]);
  });
});

describe("a size of the position", () => {
  const at = "stopOrders.risesAbove";
  const sizeOverrideSetting = "SIZE_OVERRIDE_SETTING_POSITION";
  const share = (percentage: string) => ({ sizeOverrideSetting, sizeOverrideValue: { percentage } });
  const half = (change: JsonObject) => submission({ risesAbove: { ...stop, ...change } });

  it("is a share above 0", () => {
    expect([half(share("0.000001")), half(share("1.5"))]).toEqual([[], []]);
    expect(half(share(""))).toEqual([`${at}.sizeOverrideValue.percentage is required`]);
    expect(half(share("0"))).toEqual([`${at}.sizeOverrideValue.percentage must be positive (got 0)`]);
  });

  it("comes with its setting, and the setting with it", () => {
    const problem = `${at}.sizeOverrideValue must be set only with SIZE_OVERRIDE_SETTING_POSITION`;
    const sizeOverrideValue = { percentage: "0.5" };
    expect(half({ sizeOverrideSetting })).toEqual([
      `${at}.sizeOverrideValue is required with SIZE_OVERRIDE_SETTING_POSITION`,
    ]);
    expect(half({ sizeOverrideValue })).toEqual([problem]);
    expect(half({ sizeOverrideSetting: "SIZE_OVERRIDE_SETTING_NONE", sizeOverrideValue })).toEqual([problem]);
  });

  it("stands in for the order's own, and for nothing else of it", () => {
    const order = (change: JsonObject) => half({ ...share("0.5"), orderSubmission: { ...orderSubmission, ...change } });
    expect(order({ size: "0" })).toEqual([]);
    expect(order({ size: "0", marketId: "" })).toEqual([`${at}.orderSubmission.marketId is required`]);
  });
});

describe("a cancellation of stop orders", () => {
  it("may be of all, of a market's or of one", () => {
    expect([{}, { marketId: id }, { marketId: id, stopOrderId: otherId }].map(cancellation)).toEqual([[], [], []]);
    expect(cancellation({ marketId: "", stopOrderId: "" })).toEqual([]);
  });

  it("is of identifiers", () => {
    expect(cancellation({ marketId: "x", stopOrderId: "y" })).toEqual([
      'cancellation.marketId must be 64 hex digits (got "x")',
      'cancellation.stopOrderId must be 64 hex digits (got "y")',
    ]);
  });
});
