import type { Client as ServiceClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Client, createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { Asset_Status } from "tradewire/gen/vega/assets_pb.js";
import { Market_State, Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { Order_Status, type Trade } from "tradewire/gen/vega/vega_pb.js";
import { allPages, exportedRows, type PageOf, type Paging } from "../support/all-pages.js";

const BLOCKS = 200;
/** The keys with balances, which are parties beside the made-up ones, and have an account of each asset that markets settle in. */
const KEYS = 10;
const SETTLEMENT_ASSETS = 5;
/** The network has 5 accounts of each market, and 7 of each asset. These have no row in the history, and a balance of 0. */
const EMPTY = 82;
const PARTIES = 97 + KEYS;
/** The orders on the books of the three markets that trade: ten levels on each side. */
const RESTING = 3 * 2 * 10;
const NOBODY = "ab".repeat(32);

let node: Devnode;
let clients: Record<"grpc" | "rest", Client>;
beforeAll(async () => {
  node = await startDevnode({ chainId: "devnode-1", segments: 2, blocksPerSegment: BLOCKS / 2, blockMs: 0 });
  clients = {
    grpc: createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }),
    rest: createClient({ transport: "rest", rest: { url: node.restUrl } }),
  };
  rowsOf = {
    trades: await exportedRows(clients.grpc, "trades", BLOCKS),
    markets: await exportedRows(clients.grpc, "markets", BLOCKS),
    orders: await exportedRows(clients.grpc, "orders", BLOCKS),
    deposits: await exportedRows(clients.grpc, "deposits", BLOCKS),
    checkpoints: await exportedRows(clients.grpc, "checkpoints", BLOCKS),
    balances: await exportedRows(clients.grpc, "balances", BLOCKS),
    margin_levels: await exportedRows(clients.grpc, "margin_levels", BLOCKS),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

/** The rows of exported tables. */
let rowsOf: Record<
  "trades" | "markets" | "orders" | "deposits" | "checkpoints" | "balances" | "margin_levels",
  Record<string, string | null>[]
>;

/** A filter of trades. */
interface TradesFilter {
  readonly marketIds?: string[];
  readonly partyIds?: string[];
  readonly orderIds?: string[];
  readonly dateRange?: { readonly startTimestamp: bigint; readonly endTimestamp: bigint };
}

const withoutBigints = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
const hex = (bytes: string | null | undefined) => bytes?.replace(/^\\x/, "");

describe.each(["grpc", "rest"] as const)("over %s", (transport) => {
  let data: ServiceClient<typeof TradingDataService>;
  let state: ServiceClient<typeof CoreStateService>;
  beforeAll(() => {
    data = clients[transport].service(TradingDataService);
    state = clients[transport].service(CoreStateService);
  });
  const allMarkets = () =>
    allPages(async (pagination) => (await data.listMarkets({ pagination, includeSettled: true })).markets);
  const allTrades = (size?: number, backwards?: boolean) =>
    allPages(async (pagination) => (await data.listTrades({ pagination })).trades, size, backwards);

  test("markets are those of the history and of stop orders, each with an asset, data and a book", async () => {
    const markets = await allMarkets();
    const trades = await allTrades();
    const ids = markets.map(({ id }) => id).toSorted();
    expect(ids).toEqual([...new Set(rowsOf.markets.map(({ id }) => hex(id)))].toSorted());
    const { orders } = await data.listStopOrders({});
    expect(orders?.edges.filter((edge) => !ids.includes(edge.node?.stopOrder?.marketId ?? ""))).toEqual([]);
    for (const market of markets) {
      const { instrument } = market.tradableInstrument ?? {};
      expect(instrument?.name).toMatch(/^[A-Z]+\/USD future/);
      const settlementAsset = instrument?.product.case === "future" ? instrument.product.value.settlementAsset : "";
      expect((await data.getAsset({ assetId: settlementAsset })).asset).toMatchObject({
        id: settlementAsset,
        status: Asset_Status.ENABLED,
      });
      expect((await data.getMarket({ marketId: market.id })).market).toEqual(market);
      const { marketData } = await data.getLatestMarketData({ marketId: market.id });
      expect(marketData).toMatchObject({
        market: market.id,
        marketState: market.state,
        marketTradingMode: market.tradingMode,
      });
      const book = await data.getLatestMarketDepth({ marketId: market.id, maxDepth: 3n });
      const { trade } = await data.getLastTrade({ marketId: market.id });
      expect(book).toMatchObject({ marketId: market.id, lastTrade: trade });
      // The data of a market were last told a few blocks ago.
      const traded = trades.find(
        ({ marketId, timestamp }) => marketId === market.id && timestamp <= (marketData?.timestamp ?? 0n),
      );
      expect(marketData?.lastTradedPrice).toBe(traded?.price);
      if (market.tradingMode !== Market_TradingMode.CONTINUOUS) {
        expect([book.buy, book.sell]).toEqual([[], []]);
        expect(marketData).toMatchObject({ bestBidPrice: "0", bestBidVolume: 0n, bestOfferPrice: "0" });
        continue;
      }
      expect(book.buy.map(({ price }) => Number(price))).toEqual(
        [0, 100, 200].map((step) => Number(marketData?.bestBidPrice) - step),
      );
      expect(book.sell.map(({ price }) => Number(price))).toEqual(
        [0, 100, 200].map((step) => Number(marketData?.bestOfferPrice) + step),
      );
      expect(book.buy[0]?.volume).toBe(marketData?.bestBidVolume);
      expect(book.sell[0]?.volume).toBe(marketData?.bestOfferVolume);
      expect(Number(marketData?.bestBidPrice)).toBeLessThan(Number(marketData?.bestOfferPrice));
    }
    expect(markets.filter(({ tradingMode }) => tradingMode === Market_TradingMode.CONTINUOUS)).toHaveLength(3);
  });

  test("settled markets are left out where that is asked for", async () => {
    const markets = await allMarkets();
    const { markets: page } = await data.listMarkets({ includeSettled: false });
    expect(page?.edges.map((edge) => edge.node)).toEqual(markets.filter(({ state }) => state !== Market_State.SETTLED));
    expect([page?.edges.length, markets.length]).toEqual([9, 12]);
    expect((await state.listMarkets({})).markets.map(({ id }) => id)).toEqual(
      page?.edges.map((edge) => edge.node?.id).toSorted(),
    );
  });

  test("trades are those that are exported, the newest first", async () => {
    const rows = rowsOf.trades.toReversed();
    const trades = await allTrades();
    expect(trades).toHaveLength(2 * BLOCKS);
    const brief = ({ id, marketId, price, size, buyer, seller, buyOrder, sellOrder }: Trade) => [
      id,
      marketId,
      price,
      String(size),
      buyer,
      seller,
      buyOrder,
      sellOrder,
    ];
    expect(trades.map(brief)).toEqual(
      rows.map((row) => [
        hex(row["id"]),
        hex(row["market_id"]),
        row["price"],
        row["size"],
        hex(row["buyer"]),
        hex(row["seller"]),
        hex(row["buy_order"]),
        hex(row["sell_order"]),
      ]),
    );
    expect(rows[0]?.["aggressor"]).toBe(String(trades[0]?.aggressor));
    const time = Date.parse(rows[0]?.["vega_time"]?.replace(/\.\d+\+00/, "Z").replace(" ", "T") ?? "");
    const micros = /\.(\d+)\+/.exec(rows[0]?.["vega_time"] ?? "")?.[1]?.padEnd(6, "0");
    expect(trades[0]?.timestamp).toBe(BigInt(time) * 1_000_000n + BigInt(micros ?? 0) * 1000n);
  });

  test("deposits, checkpoints, balances and margin levels are those that are exported", async () => {
    const { deposits, checkpoints, balances, margin_levels: margins } = rowsOf;
    const found = await allPages(async (pagination) => (await data.listDeposits({ pagination })).deposits);
    const brief = found.map(({ id, partyId, asset, amount, txHash }) => [id, partyId, asset, amount, txHash].join(" "));
    const rows = deposits.map((row) =>
      [hex(row["id"]), hex(row["party_id"]), hex(row["asset"]), row["amount"], row["foreign_tx_hash"]].join(" "),
    );
    expect(brief.toSorted()).toEqual(rows.toSorted());
    const [newest] = found;
    expect((await data.getDeposit({ id: newest?.id ?? "" })).deposit).toEqual(newest);

    const listed = await allPages(async (pagination) => (await data.listCheckpoints({ pagination })).checkpoints);
    expect(listed.map(({ hash, blockHash, atBlock }) => [hash, blockHash, String(atBlock)])).toEqual(
      checkpoints.toReversed().map((row) => [row["hash"], row["block_hash"], row["block_height"]]),
    );
    // As in the network's own table of them.
    expect(listed.map(({ hash, blockHash }) => `${hash} ${blockHash}`)).toEqual(
      listed.map(({ hash, blockHash }) => `${hash.toLowerCase()} ${blockHash.toUpperCase()}`),
    );

    const { timestamp: now } = await data.getVegaTime({});
    const dateRange = { startTimestamp: now - 3_600_000_000_000n };
    const changes = await allPages(
      async (pagination) => (await data.listBalanceChanges({ dateRange, pagination })).balances,
    );
    expect(changes.map(({ balance }) => balance).toSorted()).toEqual(balances.map((row) => row["balance"]).toSorted());

    const levels = await allPages(async (pagination) => (await data.listMarginLevels({ pagination })).marginLevels);
    const latest = new Map(margins.map((row) => [row["account_id"], row["maintenance_margin"]]));
    expect(levels.map(({ maintenanceMargin }) => maintenanceMargin).toSorted()).toEqual(
      [...latest.values()].toSorted(),
    );
  });

  test("pages of any size, from either end, give the same records once", async () => {
    const whole = (await allTrades()).map(({ id }) => id);
    expect((await allTrades(99)).map(({ id }) => id)).toEqual(whole);
    expect((await allTrades(99, true)).map(({ id }) => id)).toEqual(whole);
    const oldest = await data.listTrades({ pagination: { first: 2, newestFirst: false } });
    expect(oldest.trades?.edges.map((edge) => edge.node?.id)).toEqual(whole.toReversed().slice(0, 2));
  });

  test.each([
    ["listMarkets", { includeSettled: true }, 12],
    ["listAssets", {}, 6],
    ["listParties", {}, PARTIES + 1], // The network is one, too.
    ["listAccounts", {}, 311 + EMPTY + KEYS * SETTLEMENT_ASSETS],
    ["listAllPositions", {}, 1164],
  ] as const)("%s gives each record once, page by page, forwards and backwards", async (method, request, count) => {
    const list = async (pagination: Paging): Promise<PageOf<object> | undefined> => {
      const { $typeName: _, ...answer } = await data[method]({ ...request, pagination });
      return Object.values(answer)[0];
    };
    const records = await allPages(list);
    expect(new Set(records.map((record) => JSON.stringify(record, withoutBigints))).size).toBe(count);
    expect(records).toHaveLength(count);
    const size = Math.ceil(count / 3) - 1;
    expect(await allPages(list, size)).toEqual(records);
    expect(await allPages(list, size, true)).toEqual(records);
  });

  test("orders are given once, page by page, newest first", async () => {
    const records = await allPages(async (pagination) => (await data.listOrders({ pagination })).orders);
    expect(records).toHaveLength(3 * BLOCKS + RESTING);
    expect(await allPages(async (pagination) => (await data.listOrders({ pagination })).orders, 999)).toEqual(records);
  });

  test("trades are filtered by market, party, order and date", async () => {
    const trades = await allTrades();
    const [wanted] = trades.slice(200);
    if (wanted === undefined) {
      throw new Error("there are too few trades");
    }
    const list = async (request: TradesFilter) =>
      (await data.listTrades({ ...request, pagination: { first: 5000 } })).trades?.edges.map((edge) => edge.node);
    const { buyer, marketId, buyOrder, timestamp } = wanted;
    const market = trades.filter((trade) => trade.marketId === marketId);
    expect(await list({ marketIds: [marketId] })).toEqual(market);
    const party = trades.filter((trade) => trade.buyer === buyer || trade.seller === buyer);
    expect(party.length).toBeGreaterThan(2);
    expect(await list({ partyIds: [buyer, NOBODY] })).toEqual(party);
    expect(await list({ marketIds: [marketId], partyIds: [buyer] })).toEqual(
      party.filter((trade) => trade.marketId === marketId),
    );
    expect(await list({ orderIds: [buyOrder.toUpperCase()] })).toEqual(
      trades.filter((trade) => trade.buyOrder === buyOrder || trade.sellOrder === buyOrder),
    );
    expect(await list({ dateRange: { startTimestamp: timestamp, endTimestamp: timestamp + 1n } })).toEqual(
      trades.filter((trade) => trade.timestamp === timestamp),
    );
    expect(await list({ partyIds: [NOBODY] })).toEqual([]);
  });

  test("orders are those that are exported, and are filtered by every kind of filter", async () => {
    const orders = await allPages(async (pagination) => (await data.listOrders({ pagination })).orders);
    const rows = rowsOf.orders.toReversed();
    expect(orders.map(({ id, price, reference }) => [id, price, reference])).toEqual(
      rows.map((row) => [hex(row["id"]), row["price"], row["reference"] ?? ""]),
    );
    const wanted = orders.find(({ status, liquidityProvisionId }) => status === 1 && liquidityProvisionId === "");
    const filter = {
      statuses: [wanted?.status ?? 0],
      types: [wanted?.type ?? 0],
      timeInForces: [wanted?.timeInForce ?? 0],
      excludeLiquidity: true,
      partyIds: [wanted?.partyId ?? ""],
      marketIds: [wanted?.marketId ?? ""],
      reference: wanted?.reference ?? "",
      dateRange: { startTimestamp: wanted?.createdAt ?? 0n },
      liveOnly: true,
    };
    const list = async (request: Partial<typeof filter>) =>
      (await data.listOrders({ filter: request, pagination: { first: 5000 } })).orders?.edges.map((edge) => edge.node);
    expect(await list(filter)).toEqual([wanted]);
    expect(await list({ ...filter, statuses: [Order_Status.FILLED] })).toEqual([]);
    expect(await list({ excludeLiquidity: true })).toEqual(orders.filter((order) => order.liquidityProvisionId === ""));
    expect(await list({ liveOnly: true })).toEqual(orders.filter(({ status }) => status === Order_Status.ACTIVE));
    expect((await data.getOrder({ orderId: wanted?.id ?? "" })).order).toEqual(wanted);
    expect((await data.getOrder({ orderId: wanted?.id ?? "", version: Number(wanted?.version) })).order).toEqual(
      wanted,
    );
  });
});
