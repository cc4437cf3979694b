import { expect, it } from "@jest/globals";
import { run } from "../support/command.js";
import { serveNode } from "../support/node.js";

it("the start of an ID is not searched among too many stop orders, and the error names the limit", async () => {
  let listed = 0;
  const edges = () =>
    Array.from({ length: 1000 }, () => {
      listed += 1;
      const id = listed.toString(16).padStart(64, "0");
      return { cursor: id, node: { stopOrder: { id } } };
    });
  await using node = await serveNode({
    listStopOrders: () => ({ orders: { edges: edges(), pageInfo: { hasNextPage: true, endCursor: `${listed}` } } }),
  });
  const { code, out, err } = await run(["stop-order", "abcd", "--grpc-url", node.grpcUrl]);
  expect({ code, out, err }).toEqual({
    code: 2,
    out: "",
    err:
      'tradewire: cannot find the stop order "abcd" by the start of its ID: the node has more than 5000\n' +
      "Use all 64 digits of the ID, which lists print with --wide or --output jsonl.\n",
  });
});
