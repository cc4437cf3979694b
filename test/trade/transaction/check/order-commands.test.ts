import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { OrderAmendmentSchema, OrderSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { orderAmendmentProblems, orderProblems } from "../../../../src/trade/transaction/check/order-commands.js";

const id = "ab".repeat(32);
const limit = {
  marketId: id,
  price: "123456",
  size: "10",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
};
const lines = (problems: Iterable<{ path: string; message: string }>) =>
  [...problems].map(({ path, message }) => `${path} ${message}`);
const order = (change: JsonObject) =>
  lines(orderProblems(fromJson(OrderSubmissionSchema, { ...limit, ...change }), "order"));
const amendment = (change: JsonObject) =>
  lines(orderAmendmentProblems(fromJson(OrderAmendmentSchema, { orderId: id, marketId: id, ...change }), "amendment"));

describe("an order", () => {
  it("is of half of the largest number at most", () => {
    expect(order({ size: "4611686018427387903" })).toEqual([]);
    expect(order({ size: "4611686018427387904" })).toEqual([
      "order.size must be at most 4611686018427387903 (got 4611686018427387904)",
    ]);
  });

  it("shows no more of itself than its size", () => {
    expect(order({ icebergOpts: { peakSize: "10", minimumVisibleSize: "1" } })).toEqual([]);
    expect(order({ icebergOpts: { peakSize: "11", minimumVisibleSize: "1" } })).toEqual([
      "order.icebergOpts.peakSize must not exceed size, 10",
    ]);
  });

  it.each(["icebergOpts", "peggedOrder"])("with %s rests on the book, at a limit", (field) => {
    const given = {
      icebergOpts: { peakSize: "5", minimumVisibleSize: "5" },
      peggedOrder: { reference: "PEGGED_REFERENCE_MID", offset: "1" },
    };
    const own = Object.fromEntries(Object.entries(given).filter(([name]) => name === field));
    const problem = `order.${field} is valid only for limit orders that rest on the book`;
    expect(order(own)).toEqual([]);
    expect(order({ ...own, type: "TYPE_MARKET" })).toEqual([problem]);
    expect(order({ ...own, timeInForce: "TIME_IN_FORCE_IOC" })).toEqual([problem]);
    expect(order({ ...own, timeInForce: "TIME_IN_FORCE_FOK" })).toEqual([problem]);
  });

  it("is not pegged to the best price of the other side", () => {
    const pegged = (side: string, reference: string) =>
      order({ side, peggedOrder: { reference: `PEGGED_REFERENCE_${reference}`, offset: "1" } });
    const problem =
      "order.peggedOrder.reference must not be the best price of the other side, with which the order would trade";
    expect(pegged("SIDE_BUY", "BEST_BID")).toEqual([]);
    expect(pegged("SIDE_BUY", "BEST_ASK")).toEqual([problem]);
    expect(pegged("SIDE_SELL", "BEST_ASK")).toEqual([]);
    expect(pegged("SIDE_SELL", "BEST_BID")).toEqual([problem]);
    expect(pegged("SIDE_UNSPECIFIED", "BEST_BID")).toEqual(["order.side is required"]);
  });
});

describe("an amendment", () => {
  it.each<[JsonObject]>([
    [{ price: "7" }],
    [{ size: "7" }],
    [{ sizeDelta: "-7" }],
    [{ expiresAt: "1" }],
    [{ timeInForce: "TIME_IN_FORCE_GTC" }],
    [{ timeInForce: "TIME_IN_FORCE_GTT", expiresAt: "1" }],
    [{ peggedOffset: "7" }],
    [{ peggedReference: "PEGGED_REFERENCE_MID" }],
  ])("may change %j", (change) => {
    expect(amendment(change)).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{}, " must change at least one field"],
    [{ expiresAt: "0" }, " must change at least one field"],
    [{ expiresAt: "-1" }, " must change at least one field"],
    [{ price: "", size: "1" }, ".price must not be empty; omit it instead"],
    [{ price: "0" }, ".price must be positive (got 0)"],
    [{ peggedOffset: "0" }, ".peggedOffset must be positive (got 0)"],
    [{ peggedReference: 9 }, ".peggedReference must be a known value (got 9)"],
    [{ timeInForce: 9 }, ".timeInForce must be a known value (got 9)"],
    [{ size: "7", sizeDelta: "1" }, ".sizeDelta cannot be combined with size"],
    [{ size: "0" }, ".size must be positive (got 0)"],
    [{ timeInForce: "TIME_IN_FORCE_GFA" }, ".timeInForce cannot be changed to TIME_IN_FORCE_GFA or TIME_IN_FORCE_GFN"],
    [{ timeInForce: "TIME_IN_FORCE_GFN" }, ".timeInForce cannot be changed to TIME_IN_FORCE_GFA or TIME_IN_FORCE_GFN"],
    [{ timeInForce: "TIME_IN_FORCE_GTT" }, ".expiresAt is required with TIME_IN_FORCE_GTT, in Unix nanoseconds"],
    [
      { timeInForce: "TIME_IN_FORCE_GTT", expiresAt: "0" },
      ".expiresAt is required with TIME_IN_FORCE_GTT, in Unix nanoseconds",
    ],
    [{ timeInForce: "TIME_IN_FORCE_GTC", expiresAt: "1" }, ".expiresAt must be set only with TIME_IN_FORCE_GTT"],
    [{ orderId: "", size: "1" }, ".orderId is required"],
    [{ marketId: "x", size: "1" }, '.marketId must be 64 hex digits (got "x")'],
  ])("%j is refused:%s", (change, problem) => {
    expect(amendment(change)).toEqual([`amendment${problem}`]);
  });
});
