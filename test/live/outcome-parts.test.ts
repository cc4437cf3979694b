import { create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
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
