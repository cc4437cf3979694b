import { describe, expect, test } from "@jest/globals";
import { AccountType, Order_Status, Order_TimeInForce, Order_Type } from "tradewire/gen/vega/vega_pb.js";
import { failureOf } from "../../support/failure-of.js";
import {
  account,
  asset,
  blockAt,
  historyOf,
  id,
  market,
  marketData,
  order,
  position,
  stopOrder,
  timelineOf,
  trade,
} from "../living-world.js";
import { serveData } from "./data-service.js";

const { data, books } = serveData(
  historyOf({
    start: {
      parameters: new Map([
        ["spam.pow.difficulty", "15"],
        ["limits.markets.proposeEnabledFrom", "2023-05-08T00:00:00Z"],
      ]),
      assets: [asset(5)],
      markets: [market(1), market(0xa1)],
      marketData: [marketData(0xa1, { markPrice: "7" }), marketData(1, { markPrice: "9" })],
      parties: [{ id: id(2), createdAt: 1n }],
      accounts: [
        account(1, { type: AccountType.GENERAL }),
        account(2, { type: AccountType.MARGIN, marketId: id(1) }),
        account(3, { owner: "network", type: AccountType.INSURANCE, marketId: id(1) }),
        account(4, { asset: id(6), type: AccountType.GENERAL }),
      ],
      positions: [position(id(2), id(1), 5n), position(id(2), id(0xa1)), position("network", id(1))],
      stopOrders: [
        stopOrder(1),
        stopOrder(2, { status: 1, expiryStrategy: 2, partyId: id(3), marketId: id(0xa1) }),
        stopOrder(3, { status: 4, expiryStrategy: 1, updatedAt: 50n }),
      ],
      orders: [
        order(31, { status: Order_Status.ACTIVE, createdAt: 31n, reference: "mine" }),
        order(32, { status: Order_Status.PARKED, createdAt: 32n, updatedAt: 40n, partyId: id(3), version: 3n }),
      ],
    },
    orders: timelineOf([
      [1, order(11, { status: Order_Status.FILLED, createdAt: 11n, type: Order_Type.MARKET })],
      [2, order(12, { status: Order_Status.FILLED, createdAt: 12n, timeInForce: Order_TimeInForce.IOC })],
      [3, order(13, { status: Order_Status.CANCELLED, createdAt: 13n, marketId: id(0xa1) })],
      [4, order(14, { status: Order_Status.STOPPED, createdAt: 14n, liquidityProvisionId: id(9) })],
    ]),
    trades: timelineOf([
      [1, trade(21, { buyOrder: id(11), sellOrder: id(0xab), timestamp: 1n })],
      [2, trade(22, { marketId: id(0xa1), timestamp: 2n })],
      [3, trade(23, { buyer: id(4), seller: id(2), timestamp: 3n })],
    ]),
  }),
);

describe("orders are filtered", () => {
  test.each([
    ["by nothing", {}, [32, 31, 14, 13, 12, 11]],
    ["by status", { statuses: [Order_Status.FILLED, Order_Status.STOPPED] }, [14, 12, 11]],
    ["by type", { types: [Order_Type.MARKET] }, [11]],
    ["by time in force", { timeInForces: [Order_TimeInForce.IOC] }, [12]],
    ["by party", { partyIds: [id(3), id(4)] }, [32]],
    ["by market, in capitals", { marketIds: [id(0xa1).toUpperCase()] }, [13]],
    ["by reference", { reference: "mine" }, [31]],
    ["by no reference", { reference: "", partyIds: [id(3)] }, [32]],
    ["by the time of the last change", { dateRange: { startTimestamp: 14n, endTimestamp: 41n } }, [32, 31, 14]],
    ["by a time that is excluded", { dateRange: { startTimestamp: 31n, endTimestamp: 40n } }, [31]],
    ["without those of liquidity", { excludeLiquidity: true }, [32, 31, 13, 12, 11]],
    ["by being live", { liveOnly: true }, [32, 31]],
    ["by being live and more", { liveOnly: true, partyIds: [id(2)] }, [31]],
  ])("%s", async (_, filter, numbers) => {
    const { orders } = await data.listOrders({ filter });
    expect(orders?.edges.map((edge) => edge.node?.id)).toEqual(numbers.map(id));
  });
});

describe("trades are filtered", () => {
  test.each([
    ["by nothing", {}, [23, 22, 21]],
    ["by market", { marketIds: [id(1)] }, [23, 21]],
    ["by either party", { partyIds: [id(4), id(3)] }, [23, 22, 21]],
    ["by one party", { partyIds: [id(4)] }, [23]],
    ["by either order, in capitals", { orderIds: [id(0xab).toUpperCase()] }, [21]],
    ["by time", { dateRange: { startTimestamp: 2n, endTimestamp: 3n } }, [22]],
    ["by all", { marketIds: [id(1)], partyIds: [id(2)], dateRange: { startTimestamp: 2n } }, [23]],
  ])("%s", async (_, request, numbers) => {
    const { trades } = await data.listTrades(request);
    expect(trades?.edges.map((edge) => edge.node?.id)).toEqual(numbers.map(id));
  });

  test("the last one of a market is found", async () => {
    expect((await data.getLastTrade({ marketId: id(0xa1).toUpperCase() })).trade?.id).toBe(id(22));
    expect((await data.getLastTrade({ marketId: id(1) })).trade?.id).toBe(id(23));
    expect((await data.getLastTrade({ marketId: id(99) })).trade).toBeUndefined();
  });
});

describe("accounts are filtered", () => {
  test.each([
    ["by asset", { assetId: id(6) }, [AccountType.GENERAL]],
    ["by party", { partyIds: [id(2)] }, [AccountType.GENERAL, AccountType.MARGIN, AccountType.GENERAL]],
    ["by market", { marketIds: [id(1)] }, [AccountType.INSURANCE, AccountType.MARGIN]],
    ["by type", { accountTypes: [AccountType.MARGIN] }, [AccountType.MARGIN]],
    ["by type and asset", { accountTypes: [AccountType.GENERAL], assetId: id(5) }, [AccountType.GENERAL]],
  ])("%s", async (_, filter, types) => {
    const { accounts } = await data.listAccounts({ filter });
    expect(accounts?.edges.map((edge) => edge.node?.type)).toEqual(types);
  });

  test("each has its balance", async () => {
    const { accounts } = await data.listAccounts({ filter: { accountTypes: [AccountType.INSURANCE] } });
    expect(accounts?.edges.map((edge) => edge.node)).toMatchObject([
      { owner: "network", asset: id(5), marketId: id(1), balance: "100", type: AccountType.INSURANCE },
    ]);
  });
});

test("positions are filtered by party and market", async () => {
  const of = async (filter: { partyIds?: string[]; marketIds?: string[] }) =>
    (await data.listAllPositions({ filter })).positions?.edges.map((edge) => edge.node?.partyId);
  expect(await of({})).toEqual(["network", id(2), id(2)]);
  expect(await of({ marketIds: [id(1)] })).toEqual(["network", id(2)]);
  expect(await of({ partyIds: [id(2)], marketIds: [id(1)] })).toEqual([id(2)]);
  const { positions } = await data.listPositions({ partyId: id(2), marketId: id(1) });
  expect(positions?.edges.map((edge) => edge.node?.openVolume)).toEqual([5n]);
  const cursor = (await data.listAllPositions({ pagination: { first: 1 } })).positions?.pageInfo?.endCursor ?? "";
  const { positions: next } = await data.listAllPositions({ pagination: { after: cursor } });
  expect(next?.edges).toHaveLength(2);
});

describe("stop orders are filtered", () => {
  test.each([
    ["by status", { statuses: [4] }, [3]],
    ["by strategy, none among them", { expiryStrategies: [0, 2] }, [2, 1]],
    ["by party", { partyIds: [id(2)] }, [3, 1]],
    ["by market", { marketIds: [id(0xa1)] }, [2]],
    ["by the time of the last change", { dateRange: { endTimestamp: 51n } }, [3]],
    ["by being live", { liveOnly: true }, [2]],
  ])("%s", async (_, filter, numbers) => {
    const { orders } = await data.listStopOrders({ filter });
    expect(orders?.edges.map((edge) => edge.node?.stopOrder?.id)).toEqual(numbers.map(id));
  });
});

test("one record is found by its identifier, in capitals too", async () => {
  const capitals = id(0xa1).toUpperCase();
  expect((await data.getMarket({ marketId: capitals })).market?.id).toBe(id(0xa1));
  // The latest data is kept by identifiers as they are (datanode/service/market_data.go).
  expect((await data.getLatestMarketData({ marketId: id(0xa1) })).marketData?.markPrice).toBe("7");
  expect((await data.getAsset({ assetId: id(5) })).asset?.id).toBe(id(5));
  expect((await data.listAssets({ assetId: id(5) })).assets?.edges).toHaveLength(1);
  expect((await data.getParty({ partyId: id(2) })).party?.id).toBe(id(2));
  expect((await data.getStopOrder({ orderId: id(3) })).order?.stopOrder?.status).toBe(4);
  expect((await data.getOrder({ orderId: id(11) })).order?.createdAt).toBe(11n);
  expect((await data.getOrder({ orderId: id(32), version: 3 })).order?.id).toBe(id(32));
  expect((await data.getNetworkParameter({ key: "spam.pow.difficulty" })).networkParameter?.value).toBe("15");
  const { marketsData } = await data.listLatestMarketData({});
  expect(marketsData.map(({ markPrice }) => markPrice)).toEqual(["9", "7"]);
});

const gone = "no resource corresponding to this id";

// The numbers and texts are those of datanode/api/errors.go, and were recorded (test/network/recorded/listings.json).
test.each([
  [() => data.getMarket({ marketId: id(77) }), "NotFound", `30002 failed to get market for ID (${gone})`],
  [
    () => data.getLatestMarketData({ marketId: id(77) }),
    "Internal",
    `30004 failed to get market data (no market data for market: ${id(77)})`,
  ],
  [() => data.getAsset({ assetId: id(77) }), "NotFound", `200002 failed to get asset for ID (${gone})`],
  [
    () => data.listAssets({ assetId: id(77) }),
    "NotFound",
    `200002 failed to get asset for ID (failed to get asset by ID: ${id(77)}: ${gone})`,
  ],
  [() => data.getParty({ partyId: id(77) }), "NotFound", `50002 failed to get party for ID (${gone})`],
  [() => data.listParties({ partyId: id(77) }), "NotFound", `50001 failed to get parties (${gone})`],
  [() => data.getOrder({ orderId: id(77) }), "NotFound", `20006 order not found (orderID: ${id(77)}: ${gone})`],
  [
    () => data.getOrder({ orderId: id(32), version: 2 }),
    "NotFound",
    `20006 order not found (orderID: ${id(32)}: ${gone})`,
  ],
  [() => data.getStopOrder({ orderId: id(77) }), "NotFound", `20006 order not found (orderID: ${id(77)}: ${gone})`],
  [() => data.getNetworkParameter({ key: "x\0" }), "NotFound", `100002 failed to get network parameters (${gone})`],
  [() => data.getEpoch({ id: 1n }), "NotFound", `250001 failed to get epoch (${gone})`],
])("what is not there is an error: %#", async (call, code, detail) => {
  expect(await failureOf(call())).toEqual({ code, message: `${code} error`, details: [detail] });
});

const malformed = "decoding 'x': not a valid hex id (or well known exception)";

test.each([
  [() => data.getMarket({ marketId: "x" }), "10000 invalid market ID"],
  [() => data.getMarket({}), "10003 empty or missing market ID"],
  [
    () => data.listOrders({ filter: { marketIds: ["x"] } }),
    "10000 invalid party id (one or more market id is invalid)",
  ],
  [() => data.listTrades({ orderIds: ["x"] }), `40005 failed to list trades (received invalid order ID: ${malformed})`],
  [
    () => data.listAccounts({ filter: { assetId: "x" } }),
    `80006 failed to get accounts (querying account balances: ${malformed})`,
  ],
  [
    () => data.listStopOrders({ filter: { partyIds: ["x"] } }),
    "10000 invalid party id (one or more party id is invalid)",
  ],
  [
    () => data.listAllPositions({ filter: { partyIds: ["x"] } }),
    "10000 invalid party id (one or more party id is invalid)",
  ],
  [() => data.getOrder({}), "10012 missing orderID parameter"],
  [() => data.getOrder({ orderId: id(1), version: 0 }), "10000 negative order version"],
])("what is malformed is INVALID_ARGUMENT: %#", async (call, detail) => {
  expect(await failureOf(call())).toEqual({
    code: "InvalidArgument",
    message: "InvalidArgument error",
    details: [detail],
  });
});

test("what deployed nodes do not look at is not refused", async () => {
  const everyone = await data.listAllPositions({});
  expect(await data.listPositions({})).toEqual({ ...(await data.listPositions({})), positions: everyone.positions });
  expect((await data.listPositions({ partyId: "x" })).positions).toEqual(everyone.positions);
  const { trades: none } = await data.listTrades({ dateRange: { startTimestamp: 2n, endTimestamp: 2n } });
  expect(none?.edges).toEqual([]);
  expect((await data.getEpoch({ block: 11n })).epoch?.seq).toBe(0n);
  const both = [id(1), id(2)].join(",");
  const { positions } = await data.listAllPositions({ filter: { partyIds: [both] } });
  expect(positions?.edges.every((edge) => both.includes(edge.node?.partyId ?? "-"))).toBe(true);
});

test("an order book is given as deep as is asked for", async () => {
  const level = (price: number) => ({ price: String(price), volume: 2n, numberOfOrders: 1n });
  books.set(id(1), { buy: [9, 8, 7].map(level), sell: [11, 12].map(level), sequenceNumber: 9n });
  const prices = async (maxDepth?: bigint) => {
    const { buy, sell, ...rest } = await data.getLatestMarketDepth({ marketId: id(1), ...(maxDepth && { maxDepth }) });
    expect(rest).toMatchObject({ marketId: id(1), sequenceNumber: 9n, lastTrade: { id: id(23) } });
    return [buy.map(({ price }) => price), sell.map(({ price }) => price)];
  };
  expect(await prices()).toEqual([
    ["9", "8", "7"],
    ["11", "12"],
  ]);
  expect(await prices(2n)).toEqual([
    ["9", "8"],
    ["11", "12"],
  ]);
  expect(await data.getLatestMarketDepth({ marketId: id(77) })).toMatchObject({ marketId: id(77), buy: [], sell: [] });
});

test("the network tells its time, its epoch and its limits", async () => {
  expect(await data.getVegaTime({})).toMatchObject({ timestamp: blockAt(10n).time });
  const { epoch } = await data.getEpoch({});
  const startTime = blockAt(1n).time;
  expect(epoch).toMatchObject({
    seq: 0n,
    timestamps: { startTime, expiryTime: startTime + 600_000_000_000n, firstBlock: 1n, endTime: 0n, lastBlock: 0n },
  });
  expect((await data.getNetworkLimits({})).limits).toMatchObject({
    proposeMarketEnabledFrom: 1_683_504_000_000_000_000n,
    proposeAssetEnabledFrom: 0n,
    canProposeSpotMarket: false, // As the network's data node, whatever the parameters say.
  });
  expect((await data.info({})).version).toMatch(/^v0\.78\./);
});
