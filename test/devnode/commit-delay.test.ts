// A data node sends the events of a block before it commits its records: datanode/broker/sqlstore_broker.go, processBlock. Only
// the latest market data and the order books are in memory: datanode/service/market_data.go and market_depth.go (v0.78.0).
import { expect, test } from "@jest/globals";
import { createClient, Order_TimeInForce, Order_Type, Side, signerFromMnemonic } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { openMarket } from "../support/devnode.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

const value = {
  ...{ marketId: openMarket, size: 1n, price: "1", side: Side.BUY },
  ...{ type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC },
};

test("listings have the records of a block some time after its events", async () => {
  using clock = useVirtualRuntime({ io: true });
  await using node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, commitDelayMs: 75 });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signer = await signerFromMnemonic(node.mnemonic);
  const data = client.service(TradingDataService);
  const order = () => client.sendCommand({ case: "orderSubmission", value }, { signer });
  const listed = async () => {
    const { orders } = await data.listOrders({ filter: { partyIds: [signer.publicKey] } });
    return orders?.edges.length;
  };

  await order();
  const height = await node.makeBlock();
  const { buy } = await data.getLatestMarketDepth({ marketId: openMarket });
  expect(buy.at(-1)?.price).toBe("1");
  const { marketData } = await data.getLatestMarketData({ marketId: openMarket });
  const history = async () =>
    (await data.getMarketDataHistoryByID({ marketId: openMarket })).marketData?.edges[0]?.node;
  expect((await history())?.timestamp).not.toBe(marketData?.timestamp);
  expect(await listed()).toBe(0);
  await clock.pass(74);
  expect(await listed()).toBe(0);
  await clock.pass(1);
  expect(await listed()).toBe(1);
  expect((await history())?.timestamp).toBe(marketData?.timestamp);

  const snapshot = node.snapshot();
  await order();
  expect(await node.makeBlock()).toBe(height + 1n);
  node.revert(snapshot);
  await clock.pass(75);
  expect(await listed()).toBe(1); // The block of the second order is never committed.
});
