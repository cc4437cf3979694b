import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { TransactionResultSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { commandParts, outcomeOfResult } from "./inside.js";

test("of a batch that was carried out in part, no part is told where the node does not say which ones failed", () => {
  const result = create(TransactionResultSchema, {
    status: true,
    statusDetail: 2,
    transaction: { case: "batchMarketInstructions", value: { cancellations: [{}, {}] } },
    extra: { case: "failure", value: { error: "some failed" } },
  });
  const outcome = outcomeOfResult(result, 7n, "AB", commandParts(result.transaction, undefined));
  expect(outcome).toEqual({
    status: "partial",
    txHash: "AB",
    block: 7n,
    evidence: "result",
    reason: "some failed",
    parts: [],
  });
});

// v0.78.0, `ProcessBatch` in core/processor/batch_market_instructions_processor.go: cancellations of stop orders have the keys 0, 1
// and so on, as what is executed before them, and margin modes have the key updateMarginMode.
describe("of a batch that cancels stop orders, the parts that failed are those that the network means", () => {
  const marketId = "ab".repeat(32);
  const notFound = "stop order not found";
  const noMarket = "OrderError: Invalid Market ID";
  const noMargin = "OrderError: Margin Check Failed";
  const modeFailed = `Update margin mode transaction failed for market ${marketId}. Ignoring all transactions for the market`;
  const other = "cd".repeat(32);
  const batch = {
    amendments: [{ marketId }],
    submissions: [{ marketId }, { marketId: other }],
    stopOrdersCancellation: [{ marketId }, { marketId: other }],
    stopOrdersSubmission: [{ fallsBelow: { orderSubmission: { marketId } } }],
  };

  const failuresOf = (errors: readonly { readonly key: string; readonly errors: readonly string[] }[], more = {}) => {
    const result = create(TransactionResultSchema, {
      statusDetail: 2,
      transaction: { case: "batchMarketInstructions", value: { ...batch, ...more } },
      extra: { case: "failure", value: { errors: errors.map((each) => ({ ...each, errors: [...each.errors] })) } },
    });
    const outcome = outcomeOfResult(result, 7n, "AB", commandParts(result.transaction, undefined));
    return Object.fromEntries(outcome?.parts.map(({ path, reason }) => [path, reason]) ?? []);
  };

  const executed = {
    "amendments[0]": undefined,
    "submissions[0]": undefined,
    "submissions[1]": undefined,
    "stopOrdersCancellation[0]": undefined,
    "stopOrdersCancellation[1]": undefined,
    "stopOrdersSubmission[0].fallsBelow": undefined,
  };

  test.each([
    ["a stop order is not found", { 0: [notFound] }, { "stopOrdersCancellation[0]": notFound }],
    ["an amendment fails", { 0: [noMargin] }, { "amendments[0]": noMargin }],
    ["both fail", { 1: [noMargin, notFound] }, { "submissions[0]": noMargin, "stopOrdersCancellation[1]": notFound }],
    ["a later order fails", { 2: [noMarket] }, { "submissions[1]": noMarket }],
    ["a stop order fails", { 5: [noMarket] }, { "stopOrdersSubmission[0].fallsBelow": noMarket }],
  ])("%s", (_, errors, failures) => {
    const listed = Object.entries(errors).map(([key, texts]) => ({ key, errors: texts }));
    expect(failuresOf(listed)).toEqual({ ...executed, ...failures });
  });

  test("and those that may have failed are missing", () => {
    const { "amendments[0]": _, "stopOrdersCancellation[0]": __, ...rest } = executed;
    expect(failuresOf([{ key: "0", errors: [noMarket] }])).toStrictEqual(rest);
  });

  test("and all of a market whose margin mode failed", () => {
    const errors = [
      { key: "0", errors: [modeFailed, modeFailed, modeFailed] },
      { key: "1", errors: [modeFailed, notFound] },
      { key: "updateMarginMode", errors: ["margin factor"] },
    ];
    expect(failuresOf(errors, { updateMarginMode: [{ marketId }] })).toEqual({
      "updateMarginMode[0]": "margin factor",
      "amendments[0]": modeFailed,
      "submissions[0]": modeFailed,
      "submissions[1]": undefined,
      "stopOrdersCancellation[0]": modeFailed,
      "stopOrdersCancellation[1]": notFound,
      "stopOrdersSubmission[0].fallsBelow": modeFailed,
    });
  });
});
