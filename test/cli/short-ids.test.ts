import { expect, it } from "@jest/globals";
import { run } from "../support/command.js";
import { serveNode } from "../support/node.js";

const orderEvent = (id: string) => ({ stopOrder: { id } });

it("the start of an ID is not searched among too many stop orders, and the error names the limit", async () => {
  const shown = "fd620b08".padEnd(64, "0");
  let listed = 0;
  const edges = () =>
    Array.from({ length: 1000 }, () => {
      listed += 1;
      const id = listed.toString(16).padStart(64, "0");
      return { cursor: id, node: orderEvent(listed === 7 ? shown : id) };
    });
  await using node = await serveNode({
    getStopOrder: ({ orderId }) => ({ order: orderEvent(orderId) }),
    listStopOrders: () => ({ orders: { edges: edges(), pageInfo: { hasNextPage: true, endCursor: `${listed}` } } }),
  });
  const { code, out, err } = await run(["stop-orders", "abcd", "--grpc-url", node.grpcUrl]);
  expect({ code, out, err }).toEqual({
    code: 2,
    out: "",
    err:
      'tradewire: cannot find the stop order "abcd" by the start of its ID: the node has more than the 5000 that are searched\n' +
      "Use all 64 digits of the ID, which lists print with --wide or --output jsonl.\n",
  });
  listed = 0;
  // The digits that tables show are enough, as hardly any two identifiers share them.
  const found = await run(["stop-orders", "fd620b08…", "--json", "--grpc-url", node.grpcUrl]);
  expect([found.code, JSON.parse(found.out).stopOrders[0].id]).toEqual([0, shown]);
});

it("a trade is not said to be missing where not all were searched", async () => {
  const idOf = (number: number) => number.toString(16).padStart(64, "0");
  let listed = 0;
  await using node = await serveNode({
    listTrades: ({ pagination }) => {
      const edges = Array.from({ length: pagination?.first ?? 0 }, () => {
        listed += 1;
        return { cursor: idOf(listed), node: { id: idOf(listed) } };
      });
      return { trades: { edges, pageInfo: { hasNextPage: true, endCursor: idOf(listed) } } };
    },
  });
  const { code, out, err } = await run(["trades", "ab".repeat(32), "--grpc-url", node.grpcUrl]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(
    /^tradewire: cannot find the trade "(ab)+" among the last 5000\nLimit the search with --market, /,
  );
  expect(listed).toBeGreaterThan(5000);
});
