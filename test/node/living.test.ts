import { describe, expect, it } from "@jest/globals";
import { type CsvRecord, createClient, signerFromMnemonic } from "tradewire";
import { startDevnode, type TransactionFailure } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { Order_TimeInForce, Order_Type, Side, StopOrder_Status } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../support/devnode.js";

const { IOC, GTC, FOK } = Order_TimeInForce;
const blocks = { segments: 4, blocksPerSegment: 10, blockMs: 0 } as const;

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
  }
  return found;
}

describe("a local node", () => {
  it("triggers a stop order; its order trades, and the trade is listed, exported and observed", async () => {
    await using node = await startDevnode({ ...blocks, activity: 1 });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const data = client.service(TradingDataService);
    const signer = await signerFromMnemonic(node.mnemonic);
    const other = await signerFromMnemonic(node.mnemonic, { index: 2 });
    const { marketData } = await data.getLatestMarketData({ marketId: openMarket });
    const best = BigInt(marketData?.bestBidPrice ?? "0");

    const abort = new AbortController();
    const observed = collect(data.observeTrades({ partyIds: [signer.publicKey] }, { signal: abort.signal })).catch(
      () => [],
    );
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { trades } of data.observeTrades({ partyIds: [signer.publicKey] }, { signal: abort.signal })) {
        seen.push(...trades.map(({ id }) => id));
      }
    })().catch(() => undefined);

    const buy = { marketId: openMarket, side: Side.BUY, size: 5n, type: Order_Type.MARKET, timeInForce: IOC };
    await client.sendCommand({ case: "orderSubmission", value: buy }, { signer });
    await node.makeBlock();
    const { positions } = await data.listAllPositions({ filter: { partyIds: [signer.publicKey] } });
    expect(positions?.edges.map(({ node: position }) => position)).toMatchObject([
      { marketId: openMarket, openVolume: 5n },
    ]);

    const orderSubmission = { ...buy, side: Side.SELL, reduceOnly: true };
    const fallsBelow = { orderSubmission, trigger: { case: "price", value: String(best - 1000n) } as const };
    await client.sendCommand({ case: "stopOrdersSubmission", value: { fallsBelow } }, { signer });
    await node.makeBlock();
    const stopOrders = async () =>
      (await data.listStopOrders({ filter: { partyIds: [signer.publicKey] } })).orders?.edges.map(
        ({ node: event }) => event?.stopOrder,
      );
    expect(await stopOrders()).toMatchObject([{ status: StopOrder_Status.PENDING, orderId: "" }]);

    // The other party sells through the book, so that the price falls.
    const sell = { marketId: openMarket, side: Side.SELL, size: 1_000_000n, type: Order_Type.LIMIT, timeInForce: IOC };
    await client.sendCommand(
      { case: "orderSubmission", value: { ...sell, price: String(best - 2000n) } },
      { signer: other },
    );
    const bid = { marketId: openMarket, side: Side.BUY, size: 50n, type: Order_Type.LIMIT, timeInForce: GTC };
    await client.sendCommand(
      { case: "orderSubmission", value: { ...bid, price: String(best - 1500n) } },
      { signer: other },
    );
    await node.makeBlock();
    await node.makeBlock();
    const [stopOrder] = (await stopOrders()) ?? [];
    expect(stopOrder).toMatchObject({ status: StopOrder_Status.TRIGGERED });
    const orderId = stopOrder?.orderId ?? "";
    const { trades } = await data.listTrades({ orderIds: [orderId] });
    const [trade] = trades?.edges.map(({ node: found }) => found) ?? [];
    expect(trade).toMatchObject({ sellOrder: orderId, seller: signer.publicKey, marketId: openMarket });

    while ((await client.listSegments()).length === blocks.segments) {
      await node.makeBlock();
    }
    const range = { table: "trades", fromBlock: 41, toBlock: 50 } as const;
    const rows: CsvRecord[] = await collect(client.exportNetworkHistory(range).rows());
    expect(rows.find((row) => row["id"] === `\\x${trade?.id}`)).toMatchObject({
      market_id: `\\x${openMarket}`,
      price: trade?.price,
      size: String(trade?.size),
      seller: `\\x${signer.publicKey}`,
      sell_order: `\\x${orderId}`,
      aggressor: "2",
    });
    const typed = await collect(client.exportNetworkHistory(range).rows({ typed: true }));
    expect(typed.find((row) => row["id"] === trade?.id)).toMatchObject({
      market_id: openMarket,
      price: BigInt(trade?.price ?? ""),
      size: trade?.size,
      aggressor: "SIDE_SELL",
    });
    expect(typed.length).toBeGreaterThan(10);
    expect(seen).toContain(trade?.id);
    abort.abort();
    await Promise.all([observed, watching]);
  });

  it("does the same on every start, made-up trades included", async () => {
    const play = async () => {
      await using node = await startDevnode({ ...blocks, activity: 3 });
      await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
      node.setTime("2030-01-01T00:00:00Z");
      for (let made = 0; made < 10; made += 1) {
        await node.makeBlock();
      }
      const { trades } = await client.service(TradingDataService).listTrades({ pagination: { first: 100 } });
      const all = trades?.edges.map(({ node: trade }) => trade) ?? [];
      return all.map(({ id, price, size, buyer, seller } = {} as never) => ({ id, price, size, buyer, seller }));
    };
    const first = await play();
    expect(new Set(first.map(({ id }) => id)).size).toBe(100);
    expect(await play()).toEqual(first);
  });

  it("trades nothing in a block without commands, though live blocks come years after the history", async () => {
    await using node = await startDevnode(blocks);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const data = client.service(TradingDataService);
    const standing = async () => ({
      trades: (await data.listTrades({ pagination: { first: 1 } })).trades?.edges,
      depth: (await data.getLatestMarketDepth({ marketId: openMarket })).sell,
      stopOrders: await collect(client.stopOrders({ live: true })),
    });
    const before = await standing();
    expect(before.stopOrders.length).toBeGreaterThan(1000);
    await node.makeBlock();
    expect(await standing()).toEqual(before);
  });

  it("tells of what it does not carry out", async () => {
    const failures: TransactionFailure[] = [];
    await using node = await startDevnode({ ...blocks, onFailure: (failure) => failures.push(failure) });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const huge = { marketId: openMarket, side: Side.BUY, size: 1_000_000_000n, type: Order_Type.MARKET } as const;
    const { txHash } = await client.sendCommand(
      { case: "orderSubmission", value: { ...huge, timeInForce: FOK } },
      { signer },
    );
    const unknown = await client.sendCommand(
      { case: "orderCancellation", value: { marketId: openMarket, orderId: "ab".repeat(32) } },
      { signer },
    );
    await node.makeBlock();
    expect(failures.map(({ height }) => height)).toContain(41n);
    expect(failures.find(({ txHash: hash }) => hash === unknown.txHash)?.errors.join()).toContain(
      "unable to find the order",
    );
    const { orders } = await client
      .service(TradingDataService)
      .listOrders({ filter: { partyIds: [signer.publicKey] } });
    expect(orders?.edges).toHaveLength(1); // No order comes of a cancellation.
    expect(txHash).toMatch(/^[0-9A-F]{64}$/);
  });
});

it("rows of different events have different times, however fast blocks are made", async () => {
  await using node = await startDevnode({ ...blocks, blocksPerSegment: 3, activity: 300 });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  for (let made = 0; made < 3; made += 1) {
    await node.makeBlock();
  }
  const rows = await collect(client.exportNetworkHistory({ table: "trades", fromBlock: 13, toBlock: 15 }).rows());
  expect(rows.length).toBeGreaterThanOrEqual(900);
  const times = rows.map((row) => String(row["synthetic_time"]).padEnd(29));
  expect(new Set(times).size).toBe(rows.length);
});
