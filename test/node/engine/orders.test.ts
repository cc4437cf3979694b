import { describe, expect, test } from "@jest/globals";
import { Market_State, Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { Order_Status, OrderError, PeggedReference, Trade_Type } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  BUY,
  bob,
  bookOf,
  cat,
  dan,
  FOK,
  failure,
  GFA,
  GFN,
  GTT,
  IOC,
  limit,
  MARKET,
  marketId,
  marketOf,
  openExchange,
  orderOf,
  ordersOf,
  SECOND,
  SELL,
  START,
  tradesOf,
  valuesOf,
} from "./exchange.js";

test("an order rests, and is told with all its fields", () => {
  const exchange = openExchange();
  const { outcome, events, ids } = exchange.order(ann, limit(BUY, 7, 100, { reference: "mine\0" }));
  expect(outcome).toEqual({ status: "success" });
  expect(events.map((event) => event.case)).toEqual([
    "party",
    "account",
    "account",
    "partyMarginModeUpdated",
    "order",
    "marginLevels",
  ]);
  expect(valuesOf(events, "party")).toMatchObject([{ id: ann }]);
  expect(valuesOf(events, "order")).toMatchObject([
    {
      id: ids[0],
      marketId,
      partyId: ann,
      side: BUY,
      price: "100",
      size: 7n,
      remaining: 7n,
      createdAt: START,
      updatedAt: 0n,
      status: Order_Status.ACTIVE,
      reference: "mine",
      version: 1n,
      batchId: 1n,
    },
  ]);
  expect(bookOf(exchange)).toEqual({ buy: ["100: 7 (1)"], sell: [] });
  expect(exchange.order(ann, limit(BUY, 1, 101)).events.map((event) => event.case)).toEqual(["order", "marginLevels"]);
});

test("a price is told without the zeros that it began with, at submission and in an amendment", () => {
  const exchange = openExchange();
  const { ids } = exchange.order(ann, limit(BUY, 7, 1, { price: "00100" }));
  expect(orderOf(exchange, ids[0])?.price).toBe("100");
  exchange.amend(ann, { orderId: ids[0] ?? "", price: "0099" });
  expect(orderOf(exchange, ids[0])?.price).toBe("99");
  expect(bookOf(exchange).buy).toEqual(["99: 7 (1)"]);
});

test("the best price trades first, then what came first, at the price on the book", () => {
  const exchange = openExchange();
  const [first, second, third] = [
    exchange.order(ann, limit(SELL, 5, 101)),
    exchange.order(bob, limit(SELL, 5, 101)),
    exchange.order(cat, limit(SELL, 5, 100)),
  ];
  const { events, ids } = exchange.order(dan, limit(BUY, 12, 103));
  expect(tradesOf(events)).toEqual(["5@100 d<c", "5@101 d<a", "2@101 d<b"]);
  const kinds = events.map((event) => event.case).filter((kind) => kind === "order" || kind === "trade");
  expect(kinds).toEqual(["order", "order", "order", "order", "trade", "trade", "trade"]);
  expect(orderOf(exchange, ids[0])).toMatchObject({ status: Order_Status.FILLED, remaining: 0n });
  expect(orderOf(exchange, first.ids[0])).toMatchObject({
    status: Order_Status.FILLED,
    remaining: 0n,
    updatedAt: START,
  });
  expect(orderOf(exchange, third.ids[0])).toMatchObject({ status: Order_Status.FILLED, remaining: 0n });
  expect(orderOf(exchange, second.ids[0])).toMatchObject({ status: Order_Status.ACTIVE, remaining: 3n, version: 1n });
  expect(valuesOf(events, "trade")[0]).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f]{64}$/),
    marketId,
    aggressor: BUY,
    buyOrder: ids[0],
    sellOrder: third.ids[0],
    timestamp: START,
    type: Trade_Type.DEFAULT,
    assetPrice: "100",
  });
  expect(new Set(valuesOf(events, "trade").map(({ id }) => id)).size).toBe(3);
  expect(bookOf(exchange)).toEqual({ buy: [], sell: ["101: 3 (1)"] });
});

test("what is left of a limit order rests", () => {
  const exchange = openExchange();
  exchange.order(ann, limit(BUY, 4, 100));
  const { events, ids } = exchange.order(bob, limit(SELL, 10, 99));
  expect(tradesOf(events)).toEqual(["4@100 a<b"]);
  expect(orderOf(exchange, ids[0])).toMatchObject({ status: Order_Status.ACTIVE, size: 10n, remaining: 6n });
  expect(bookOf(exchange)).toEqual({ buy: [], sell: ["99: 6 (1)"] });
});

describe("an order that does not rest", () => {
  const { STOPPED, FILLED, PARTIALLY_FILLED } = Order_Status;
  test.each([
    ["IOC", { timeInForce: IOC }, 3, FILLED, 0n],
    ["IOC, too large", { timeInForce: IOC }, 8, PARTIALLY_FILLED, 3n],
    ["IOC, too cheap", { timeInForce: IOC, price: "99" }, 3, STOPPED, 3n],
    ["FOK", { timeInForce: FOK }, 5, FILLED, 0n],
    ["FOK, too large", { timeInForce: FOK }, 6, STOPPED, 6n],
    ["market, FOK", { type: MARKET, timeInForce: FOK, price: "" }, 9, FILLED, 0n],
    ["market, IOC", { type: MARKET, timeInForce: IOC, price: "" }, 30, PARTIALLY_FILLED, 20n],
  ])("%s", (_, fields, size, status, remaining) => {
    const exchange = openExchange();
    exchange.order(ann, limit(SELL, 5, 100));
    exchange.order(ann, limit(SELL, 5, 200));
    const { outcome, ids } = exchange.order(bob, limit(BUY, size, 100, fields));
    expect(outcome).toEqual({ status: "success" });
    expect(orderOf(exchange, ids[0])).toMatchObject({ status, remaining });
    expect(orderOf(exchange, ids[0])?.reason).toBeUndefined();
    expect(bookOf(exchange).buy).toEqual([]);
  });

  test("finds nothing in an empty book", () => {
    const exchange = openExchange();
    const { ids } = exchange.order(bob, limit(BUY, 1, 0, { type: MARKET, timeInForce: IOC, price: "" }));
    expect(orderOf(exchange, ids[0])).toMatchObject({ status: STOPPED, price: "0", remaining: 1n });
  });
});

describe("an order that meets one of its own party", () => {
  test.each([
    [10, {}, Order_Status.PARTIALLY_FILLED, 8n, ["2@100 b<a"]],
    [10, { timeInForce: FOK }, Order_Status.STOPPED, 10n, []],
    [2, {}, Order_Status.FILLED, 0n, ["2@100 b<a"]],
  ])("is stopped there (%p, %p)", (size, fields, status, remaining, trades) => {
    const exchange = openExchange();
    exchange.order(ann, limit(SELL, 2, 100));
    const own = exchange.order(bob, limit(SELL, 2, 100));
    exchange.order(ann, limit(SELL, 20, 100));
    const { outcome, events, ids } = exchange.order(bob, limit(BUY, size, 100, fields));
    expect(outcome).toEqual({ status: "success" });
    expect(tradesOf(events)).toEqual(trades);
    const reason = status === Order_Status.FILLED ? undefined : OrderError.SELF_TRADING;
    expect(orderOf(exchange, ids[0])).toMatchObject({ status, remaining });
    expect(orderOf(exchange, ids[0])?.reason).toBe(reason);
    expect(orderOf(exchange, own.ids[0])).toMatchObject({ status: Order_Status.ACTIVE, remaining: 2n });
  });

  test("at once has no fill", () => {
    const exchange = openExchange();
    exchange.order(bob, limit(SELL, 2, 100));
    const { ids } = exchange.order(bob, limit(BUY, 1, 100));
    expect(orderOf(exchange, ids[0])).toMatchObject({
      status: Order_Status.STOPPED,
      remaining: 1n,
      reason: OrderError.SELF_TRADING,
    });
  });
});

// Reasons and texts are those of core/execution/future/market.go, core/execution/common/errors.go and protos/vega/errors.go.
describe("an order is rejected", () => {
  const auction = marketOf({ tradingMode: Market_TradingMode.MONITORING_AUCTION, state: Market_State.SUSPENDED });
  const capped = marketOf({
    tickSize: "5",
    tradableInstrument: {
      instrument: {
        product: { case: "future", value: { settlementAsset: "af".repeat(32), cap: { maxPrice: "1000" } } },
      },
    },
  });
  const pegged = (reference: PeggedReference, offset = "1") => ({ price: "", peggedOrder: { reference, offset } });
  const { MID, BEST_ASK, BEST_BID, UNSPECIFIED } = PeggedReference;
  const open = marketOf();
  test.each([
    ["MARKET_CLOSED", "trading not allowed", marketOf({ state: Market_State.SETTLED }), limit(BUY, 1, 1)],
    [
      "MARKET_CLOSED",
      "trading not allowed",
      marketOf({ tradingMode: Market_TradingMode.NO_TRADING }),
      limit(BUY, 1, 1),
    ],
    [
      "INVALID_EXPIRATION_DATETIME",
      "invalid expiresAt time",
      open,
      limit(BUY, 1, 1, { timeInForce: GTT, expiresAt: START - 1000n }),
    ],
    [
      "CANNOT_SEND_GFA_ORDER_DURING_CONTINUOUS_TRADING",
      "gfa order received during continuous trading",
      open,
      limit(BUY, 1, 1, { timeInForce: GFA }),
    ],
    [
      "CANNOT_SEND_GFN_ORDER_DURING_AN_AUCTION",
      "gfn order received during auction trading",
      auction,
      limit(BUY, 1, 1, { timeInForce: GFN }),
    ],
    [
      "CANNOT_SEND_IOC_ORDER_DURING_AUCTION",
      "ioc order received during auction trading",
      auction,
      limit(BUY, 1, 1, { timeInForce: IOC }),
    ],
    [
      "CANNOT_SEND_FOK_ORDER_DURING_AUCTION",
      "fok order received during auction trading",
      auction,
      limit(BUY, 1, 1, { timeInForce: FOK }),
    ],
    ["INVALID_TYPE", "invalid order type", open, limit(BUY, 1, 1, { type: 3 })],
    ["INVALID_PERSISTENCE", "OrderError: Invalid Persistence", open, limit(BUY, 1, 1, { type: MARKET })],
    ["INVALID_TIME_IN_FORCE", "OrderError: invalid time in force", open, limit(BUY, 1, 1, { reduceOnly: true })],
    ["INVALID_SIZE", "OrderError: Invalid Size", open, limit(BUY, 0, 1)],
    ["INVALID_SIZE", "OrderError: Invalid Size", open, limit(BUY, 2n ** 62n, 1)],
    [undefined, "OrderError: price not in tick size", capped, limit(BUY, 1, 999)],
    [undefined, "OrderError: price not in tick size", capped, limit(BUY, 1, 1, pegged(MID, "3"))],
    ["PRICE_NOT_IN_TICK_SIZE", "invalid order price", open, limit(BUY, 1, 0)],
    ["PRICE_MUST_BE_LESS_THAN_OR_EQUAL_TO_MAX_PRICE", "invalid order price", capped, limit(BUY, 1, 1000)],
    [
      "MUST_BE_LIMIT_ORDER",
      "invalid OrderError",
      open,
      limit(BUY, 1, 1, { ...pegged(MID), type: MARKET, timeInForce: IOC }),
    ],
    ["MUST_BE_GTT_OR_GTC", "invalid OrderError", open, limit(BUY, 1, 1, { ...pegged(MID), timeInForce: IOC })],
    [
      "BUY_CANNOT_REFERENCE_BEST_ASK_PRICE",
      "OrderError: buy cannot reference best ask price",
      open,
      limit(BUY, 1, 1, pegged(BEST_ASK)),
    ],
    [
      "SELL_CANNOT_REFERENCE_BEST_BID_PRICE",
      "OrderError: sell cannot reference best bid price",
      open,
      limit(SELL, 1, 1, pegged(BEST_BID)),
    ],
    ["WITHOUT_REFERENCE_PRICE", "invalid OrderError", open, limit(SELL, 1, 1, pegged(UNSPECIFIED))],
    [
      "OFFSET_MUST_BE_GREATER_THAN_ZERO",
      "OrderError: offset must be greater than zero",
      open,
      limit(SELL, 1, 1, pegged(MID, "0")),
    ],
  ])("%s, %s", (reason, text, market, order) => {
    const exchange = openExchange(market);
    const { outcome, ids } = exchange.order(ann, order);
    expect(outcome).toEqual(failure(text));
    expect(orderOf(exchange, ids[0])).toMatchObject({ status: Order_Status.REJECTED, version: 1n });
    expect(orderOf(exchange, ids[0])?.reason).toBe(reason && OrderError[reason as keyof typeof OrderError]);
    expect(bookOf(exchange)).toEqual({ buy: [], sell: [] });
  });

  test("without an event where there is no such market", () => {
    const exchange = openExchange();
    const { outcome, events } = exchange.order(ann, limit(BUY, 1, 1, { marketId: "00".repeat(32) }));
    expect(outcome).toEqual(failure("OrderError: Invalid Market ID"));
    expect(valuesOf(events, "order")).toEqual([]);
  });
});

describe("a post-only order", () => {
  test.each([
    [100, false],
    [99, true],
  ])("at %p", (price, rests) => {
    const exchange = openExchange();
    exchange.order(ann, limit(SELL, 1, 100));
    const { outcome, events, ids } = exchange.order(bob, limit(BUY, 1, price, { postOnly: true }));
    expect(tradesOf(events)).toEqual([]);
    expect(outcome).toEqual(rests ? { status: "success" } : failure("OrderError: post only order would trade"));
    expect(orderOf(exchange, ids[0])).toMatchObject(
      rests
        ? { status: Order_Status.ACTIVE }
        : { status: Order_Status.STOPPED, reason: OrderError.POST_ONLY_ORDER_WOULD_TRADE },
    );
    expect(bookOf(exchange)).toEqual({ buy: rests ? ["99: 1 (1)"] : [], sell: ["100: 1 (1)"] });
  });
});

describe("a reduce-only order", () => {
  const withPosition = () => {
    const exchange = openExchange();
    exchange.order(bob, limit(SELL, 4, 100));
    exchange.order(ann, limit(BUY, 4, 100));
    exchange.order(bob, limit(BUY, 20, 90));
    exchange.order(bob, limit(SELL, 20, 110));
    return exchange;
  };
  const market = { type: MARKET, timeInForce: IOC, price: "", reduceOnly: true };

  test("trades no more than the position", () => {
    const exchange = withPosition();
    const { events, ids } = exchange.order(ann, limit(SELL, 9, 0, market));
    expect(tradesOf(events)).toEqual(["4@90 b<a"]);
    expect(orderOf(exchange, ids[0])).toMatchObject({ status: Order_Status.STOPPED, size: 9n, remaining: 5n });
    expect(valuesOf(events, "position").find(({ partyId }) => partyId === ann)?.openVolume).toBe(0n);
  });

  test.each([
    ["it would enlarge the position", ann, limit(BUY, 1, 0, market)],
    ["there is no position", cat, limit(BUY, 1, 0, market)],
    ["all of it would flip the position", ann, limit(SELL, 5, 0, { ...market, timeInForce: FOK })],
  ])("is stopped where %s", (_, party, order) => {
    const exchange = withPosition();
    const { outcome, events, ids } = exchange.order(party, order);
    expect(outcome).toEqual(failure("OrderError: reduce only order would not reduce position"));
    expect(tradesOf(events)).toEqual([]);
    expect(orderOf(exchange, ids[0])).toMatchObject({
      status: Order_Status.STOPPED,
      reason: OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION,
    });
  });
});

test("an order expires when a block begins at its time", () => {
  const exchange = openExchange();
  const later = exchange.order(ann, limit(BUY, 5, 99, { timeInForce: GTT, expiresAt: START + 3n * SECOND }));
  const sooner = exchange.order(ann, limit(BUY, 5, 98, { timeInForce: GTT, expiresAt: START + 2n * SECOND }));
  expect(exchange.nextBlock().begin).toEqual([]);
  const { begin } = exchange.nextBlock();
  expect(valuesOf(begin, "expiredOrders")).toMatchObject([{ marketId, orderIds: [sooner.ids[0]] }]);
  expect(valuesOf(begin, "order")).toEqual([]);
  expect(ordersOf(begin)).toMatchObject([
    { id: sooner.ids[0], status: Order_Status.EXPIRED, remaining: 5n, updatedAt: START + 2n * SECOND },
  ]);
  expect(bookOf(exchange).buy).toEqual(["99: 5 (1)"]);
  expect(valuesOf(exchange.nextBlock(5n).begin, "expiredOrders")).toMatchObject([{ orderIds: [later.ids[0]] }]);
  expect(bookOf(exchange).buy).toEqual([]);
});

test("so does an order that rested before the first block", () => {
  const earlier = openExchange();
  const { ids } = earlier.order(ann, limit(BUY, 5, 99, { timeInForce: GTT, expiresAt: START + 2n * SECOND }));
  const [order] = ordersOf(earlier.events);
  const exchange = openExchange(marketOf(), { orders: order === undefined ? [] : [order] });
  expect(bookOf(exchange).buy).toEqual(["99: 5 (1)"]);
  expect(exchange.nextBlock().begin).toEqual([]);
  expect(valuesOf(exchange.nextBlock().begin, "expiredOrders")).toMatchObject([{ marketId, orderIds: [ids[0]] }]);
});

test("orders that expire in one block do so by their times", () => {
  const exchange = openExchange();
  const expiring = (seconds: bigint) => ({ timeInForce: GTT, expiresAt: START + seconds * SECOND });
  const ids = [4n, 2n, 3n].map((seconds) => exchange.order(ann, limit(BUY, 5, 99, expiring(seconds))).ids[0]);
  const { begin } = exchange.nextBlock(9n);
  expect(valuesOf(begin, "expiredOrders")).toMatchObject([{ orderIds: [ids[1], ids[2], ids[0]] }]);
});

test("in an auction orders rest and do not trade", () => {
  const exchange = openExchange(
    marketOf({ tradingMode: Market_TradingMode.OPENING_AUCTION, state: Market_State.PENDING }),
  );
  exchange.order(ann, limit(SELL, 5, 90, { timeInForce: GFA }));
  const { events } = exchange.order(bob, limit(BUY, 5, 110, { postOnly: true }));
  expect(tradesOf(events)).toEqual([]);
  expect(bookOf(exchange)).toEqual({ buy: ["110: 5 (1)"], sell: ["90: 5 (1)"] });
  const [data] = valuesOf(exchange.endBlock(), "marketData");
  expect(data).toMatchObject({
    marketTradingMode: Market_TradingMode.OPENING_AUCTION,
    marketState: Market_State.PENDING,
    bestBidPrice: "110",
    bestOfferPrice: "90",
    lastTradedPrice: "0",
  });
});

describe("a cancellation", () => {
  test("ends one order, those on a market, or all", () => {
    const other = "dd".repeat(32);
    const exchange = openExchange(marketOf(), { markets: [marketOf(), marketOf({ id: other })] });
    const [first, second] = [exchange.order(ann, limit(BUY, 1, 10)), exchange.order(ann, limit(BUY, 2, 11))];
    exchange.order(bob, limit(BUY, 3, 10));
    const elsewhere = exchange.order(ann, limit(BUY, 4, 10, { marketId: other }));
    const statuses = () => [first, second, elsewhere].map(({ ids }) => orderOf(exchange, ids[0])?.status);
    const { ACTIVE, CANCELLED } = Order_Status;
    const alone = exchange.cancel(ann, { marketId, orderId: first.ids[0]?.toUpperCase() ?? "" });
    expect(alone.outcome).toEqual({ status: "success" });
    expect(valuesOf(alone.events, "cancelledOrders")).toMatchObject([
      { marketId, partyId: ann, orderIds: [first.ids[0]] },
    ]);
    expect(valuesOf(alone.events, "order")).toEqual([]);
    expect(statuses()).toEqual([CANCELLED, ACTIVE, ACTIVE]);
    expect(exchange.cancel(ann, { marketId: marketId.toUpperCase() }).outcome).toEqual({ status: "success" });
    expect(statuses()).toEqual([CANCELLED, CANCELLED, ACTIVE]);
    expect(valuesOf(exchange.cancel(ann).events, "cancelledOrders")).toMatchObject([{ marketId: other }]);
    expect(statuses()).toEqual([CANCELLED, CANCELLED, CANCELLED]);
    expect(bookOf(exchange)).toEqual({ buy: ["10: 3 (1)"], sell: [] });
    expect(exchange.cancel(ann)).toMatchObject({ outcome: { status: "success" }, events: [] });
  });

  test("fails where there is no such order, or it is another's", () => {
    const exchange = openExchange();
    const { ids } = exchange.order(ann, limit(BUY, 1, 10));
    const orderId = ids[0] ?? "";
    const notFound = failure("unable to find the order in the market");
    expect(exchange.cancel(bob, { marketId, orderId }).outcome).toEqual(failure("OrderError: Invalid Party ID"));
    expect(exchange.cancel(ann, { marketId, orderId: "00".repeat(32) }).outcome).toEqual(notFound);
    expect(exchange.cancel(ann, { orderId, marketId: "00".repeat(32) }).outcome).toEqual(
      failure("OrderError: Invalid Market ID"),
    );
    // core/execution/engine.go, CancelOrder
    expect(exchange.cancel(ann, { orderId }).outcome).toEqual(failure("invalid order cancellation"));
    exchange.cancel(ann, { marketId, orderId });
    expect(exchange.cancel(ann, { marketId, orderId }).outcome).toEqual(notFound);
  });
});
