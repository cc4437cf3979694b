// A data node sends the events of a block before it commits its records (`processBlock`), and the records of most streams just before
// the commit (`Flush`): datanode/broker/sqlstore_broker.go. Its time is that of the block that it has begun: datanode/sqlstore/
// blocks.go, Add. Only the latest market data, the order books and the position of one party on one market are in memory:
// datanode/service/market_data.go, market_depth.go and position.go (v0.78.0).
import { describe, expect, it } from "@jest/globals";
import { createClient, Order_TimeInForce, Order_Type, Side, signerFromMnemonic } from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { type DevnodeOptions, startDevnode } from "tradewire/devnode";
import { openMarket, ownAsset } from "../support/devnode.js";
import { useVirtualRuntime, type VirtualRuntime } from "../support/virtual-runtime.js";

const DELAY_MS = 75;

/** Starts a node in virtual time, and a client whose orders are resting, or trade with the generated ones. */
async function start(options: DevnodeOptions = {}) {
  const node = await startDevnode({ segments: 1, blocksPerSegment: 10, ...options });
  const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signer = await signerFromMnemonic(node.mnemonic);
  const data = client.service(TradingDataService);
  const send = (value: object) =>
    client.sendCommand(
      { case: "orderSubmission", value: { marketId: openMarket, size: 1n, side: Side.BUY, ...value } },
      { signer },
    );
  return {
    ...{ node, client, data, partyId: signer.publicKey },
    rest: () => send({ price: "1", type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC }),
    trade: () => send({ type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC }),
    async listed() {
      const { orders } = await data.listOrders({ filter: { partyIds: [signer.publicKey] } });
      return orders?.edges.length;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await node.close();
    },
  };
}

const byHand = { blockMs: 0, commitDelayMs: DELAY_MS };

/** Collects what a stream sends until the test ends. */
function collecting<T>(stream: AsyncIterable<T>): readonly T[] {
  const seen: T[] = [];
  void (async () => {
    for await (const message of stream) {
      seen.push(message);
    }
  })().catch(() => undefined);
  return seen;
}

describe("listings", () => {
  it("have the records of a block some time after its events", async () => {
    using clock = useVirtualRuntime({ io: true });
    await using started = await start(byHand);
    const { node, data, listed, rest } = started;

    await rest();
    const height = await node.makeBlock();
    const { buy } = await data.getLatestMarketDepth({ marketId: openMarket });
    expect(buy.at(-1)?.price).toBe("1");
    const { marketData } = await data.getLatestMarketData({ marketId: openMarket });
    const history = async () =>
      (await data.getMarketDataHistoryByID({ marketId: openMarket })).marketData?.edges[0]?.node;
    expect((await history())?.timestamp).not.toBe(marketData?.timestamp);
    expect(await listed()).toBe(0);
    await clock.pass(DELAY_MS - 1);
    expect(await listed()).toBe(0);
    await clock.pass(1);
    expect(await listed()).toBe(1);
    expect((await history())?.timestamp).toBe(marketData?.timestamp);

    const snapshot = node.snapshot();
    await rest();
    expect(await node.makeBlock()).toBe(height + 1n);
    node.revert(snapshot);
    await clock.pass(DELAY_MS);
    expect(await listed()).toBe(1); // The block of the second order is never committed.
  });

  it("follow by default where blocks are made by a clock, and have each block at once where they are made by hand", async () => {
    using clock = useVirtualRuntime({ io: true });
    await using byClock = await start({ blockMs: 1000 });
    await byClock.rest();
    await clock.pass(1000);
    expect(await byClock.listed()).toBe(0);
    await clock.pass(DELAY_MS);
    expect(await byClock.listed()).toBe(1);
    await using made = await start({ blockMs: 0 });
    await made.rest();
    await made.node.makeBlock();
    expect(await made.listed()).toBe(1);
  });

  it("of the ledger, balances, positions and trades follow too; the core's methods do not", async () => {
    using clock = useVirtualRuntime({ io: true });
    await using started = await start(byHand);
    const { node, client, data, partyId, trade } = started;
    const counts = async () => {
      const { ledgerEntries } = await data.listLedgerEntries({ filter: { toAccountFilter: { partyIds: [partyId] } } });
      const { accounts } = await data.listAccounts({ filter: { partyIds: [partyId], marketIds: [openMarket] } });
      const { positions } = await data.listAllPositions({ filter: { partyIds: [partyId] } });
      const { trades } = await data.listTrades({ partyIds: [partyId] });
      return [ledgerEntries, accounts, positions, trades].map((page) => page?.edges.length);
    };
    await trade();
    const height = await node.makeBlock();
    expect(await counts()).toEqual([0, 0, 0, 0]);
    const core = client.service(CoreService);
    expect((await core.lastBlockHeight({})).height).toBe(height);
    expect((await core.statistics({})).statistics?.blockHeight).toBe(height);
    await clock.pass(DELAY_MS);
    expect(await counts()).toEqual([expect.any(Number), 1, 1, 1]);
    expect((await counts())[0]).toBeGreaterThan(0);
  });
});

it("the data node's time is that of the block after the last one that is committed", async () => {
  using clock = useVirtualRuntime({ io: true });
  await using started = await start(byHand);
  const { node, client, data } = started;
  const times = async () => [
    (await data.getVegaTime({})).timestamp,
    (await client.service(CoreService).getVegaTime({})).timestamp,
  ];
  const makeBlock = async () => {
    await node.makeBlock();
    return (await times())[1] ?? 0n;
  };
  const first = await makeBlock();
  expect(await times()).toEqual([first, first]);
  await clock.pass(DELAY_MS - 10);
  const second = await makeBlock();
  const third = await makeBlock();
  expect(await times()).toEqual([first, third]);
  await clock.pass(10);
  expect(await times()).toEqual([second, third]);
  await clock.pass(DELAY_MS);
  expect(await times()).toEqual([third, third]);
});

describe("streams", () => {
  async function withStreams(work: (parts: Awaited<ReturnType<typeof start>>, clock: VirtualRuntime) => Promise<void>) {
    using clock = useVirtualRuntime({ io: true });
    await using started = await start(byHand);
    await work(started, clock);
  }

  it("have the records of a block when it is committed, and the event bus and order books have them before", () =>
    withStreams(async ({ node, data, partyId, trade }, clock) => {
      const marketIds = [openMarket];
      const seen = {
        events: collecting(data.observeEventBus(once({ partyId, batchSize: 0n }))),
        books: collecting(data.observeMarketsDepthUpdates({ marketIds })),
        orders: collecting(data.observeOrders({ partyIds: [partyId] })),
        trades: collecting(data.observeTrades({ partyIds: [partyId] })),
        positions: collecting(data.observePositions({ partyId })),
        accounts: collecting(data.observeAccounts({ partyId, asset: ownAsset })),
        marketData: collecting(data.observeMarketsData({ marketIds })),
        candles: collecting(data.observeCandleData({ candleId: `trades_candle_1_minute_${openMarket}` })),
      };
      await clock.pass(0);
      const opened = Object.entries(seen).map(([name, { length }]) => [name, length] as const);
      const more = () =>
        opened.filter(([name, before]) => Reflect.get(seen, name).length > before).map(([name]) => name);
      await trade();
      await node.makeBlock();
      await clock.pass(DELAY_MS - 1);
      expect(more()).toEqual(["events", "books"]);
      await clock.pass(1);
      expect(more()).toEqual(Object.keys(seen));
      const { trades } = await data.listTrades({ partyIds: [partyId] });
      expect(seen.candles.at(-1)?.candle?.lastUpdate).toBe(trades?.edges[0]?.node?.timestamp);
    }));

  it("that open between the events and the commit have the block after their snapshot", () =>
    withStreams(async ({ node, data, partyId, trade }, clock) => {
      await trade();
      await node.makeBlock();
      const orders = collecting(data.observeOrders({ partyIds: [partyId] }));
      const positions = collecting(data.observePositions({ partyId }));
      const position = collecting(data.observePositions({ partyId, marketId: openMarket }));
      await clock.pass(0);
      expect(orders).toMatchObject([{ response: { case: "snapshot", value: { orders: [] } } }]);
      expect(positions).toMatchObject([{ response: { case: "snapshot", value: { positions: [] } } }]);
      expect(position).toMatchObject([{ response: { value: { positions: [{ openVolume: 1n }] } } }]);
      await clock.pass(DELAY_MS);
      expect(orders.at(-1)).toMatchObject({ response: { case: "updates", value: { orders: [{ partyId }] } } });
      expect(positions.at(-1)).toMatchObject({ response: { value: { positions: [{ openVolume: 1n }] } } });
    }));
});

async function* once<T>(request: T): AsyncGenerator<T> {
  yield request;
  await new Promise(() => {}); // The bus ends where its requests do.
}
