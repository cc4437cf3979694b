import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import type { StopOrderSetupSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { Market_State, Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import {
  Order_Status,
  StopOrder_ExpiryStrategy,
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  BUY,
  bob,
  cat,
  dan,
  type Exchange,
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
  stopOf,
  submittedBy,
  success,
  tradesOf,
  valuesOf,
} from "./exchange.js";

const { PENDING, TRIGGERED, STOPPED, CANCELLED, EXPIRED, REJECTED } = StopOrder_Status;
const { RISES_ABOVE, FALLS_BELOW } = StopOrder_TriggerDirection;
const { CANCELS, SUBMIT } = StopOrder_ExpiryStrategy;
const { POSITION } = StopOrder_SizeOverrideSetting;

type Setup = Exclude<MessageInitShape<typeof StopOrderSetupSchema>, { readonly $typeName: string }>;

/** A stop order that sells or buys at any price. */
function at(trigger: number | string, side = SELL, more: Setup = {}): Setup {
  return {
    orderSubmission: limit(side, 4, 0, { type: MARKET, timeInForce: IOC, price: "", reduceOnly: true }),
    trigger:
      typeof trigger === "number"
        ? { case: "price", value: String(trigger) }
        : { case: "trailingPercentOffset", value: trigger },
    ...more,
  };
}

/** Ann is long 10 from 100, bob short; both sides have orders of cat, far away. */
function withPosition(more: Parameters<typeof openExchange>[1] = {}) {
  const exchange = openExchange(marketOf(), more);
  exchange.order(bob, limit(SELL, 10, 100));
  exchange.order(ann, limit(BUY, 10, 100));
  exchange.order(cat, limit(BUY, 1000, 10));
  exchange.order(cat, limit(SELL, 1000, 1000));
  exchange.nextBlock();
  return exchange;
}

/** Trade 1 at a price. */
function trade(exchange: Exchange, price: number) {
  exchange.order(dan, limit(SELL, 1, price));
  exchange.order(bob, limit(BUY, 1, price));
}

test("a stop order waits, and is told with its order", () => {
  const exchange = withPosition();
  const { outcome, events, ids } = exchange.stop(ann, { fallsBelow: at(90) });
  expect(outcome).toEqual({ status: "success" });
  expect(valuesOf(events, "stopOrder")).toMatchObject([
    {
      stopOrder: {
        id: ids[0],
        partyId: ann,
        marketId,
        status: PENDING,
        triggerDirection: FALLS_BELOW,
        createdAt: START + SECOND,
        updatedAt: START + SECOND,
        orderId: "",
        sizeOverrideSetting: 0,
        trigger: { case: "price", value: "90" },
      },
      submission: { marketId, size: 4n, price: "0", side: SELL, reduceOnly: true },
    },
  ]);
  expect(valuesOf(exchange.nextBlock().end, "stopOrder")).toEqual([]);
});

// core/execution/future/market.go, BlockEnd and removeAllStopOrders; core/positions/market_position.go, Closed.
describe("a position that closes", () => {
  test("cancels the stop orders of its party at the end of the block", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at(5), risesAbove: at(2000) });
    exchange.order(ann, limit(SELL, 10, 10));
    expect(ids.slice(0, 2).map((id) => stopOf(exchange, id)?.status)).toEqual([PENDING, PENDING]);
    const cancelled = valuesOf(exchange.nextBlock().end, "stopOrder").map(({ stopOrder }) => stopOrder);
    expect(cancelled).toMatchObject(
      ids
        .slice(0, 2)
        .toSorted()
        .map((id) => ({ id, status: CANCELLED })),
    );
    expect(valuesOf(exchange.cancelStops(ann, { marketId }).events, "stopOrder")).toEqual([]);
  });

  test("leaves the stop orders of other parties, and its own while an order of its party rests", () => {
    const exchange = withPosition();
    const { ids: own } = exchange.stop(ann, { fallsBelow: at(5) });
    const { ids: others } = exchange.stop(bob, { risesAbove: at(2000, BUY) });
    const [orderId = ""] = exchange.order(ann, limit(BUY, 1, 1)).ids;
    exchange.order(ann, limit(SELL, 10, 10));
    expect(valuesOf(exchange.nextBlock().end, "stopOrder")).toEqual([]);
    exchange.cancel(ann, { marketId, orderId });
    expect(valuesOf(exchange.nextBlock().end, "stopOrder")).toEqual([]); // Nothing was traded.
    trade(exchange, 20);
    expect(valuesOf(exchange.nextBlock().end, "stopOrder")).toMatchObject([
      { stopOrder: { id: own[0], status: CANCELLED } },
    ]);
    expect(stopOf(exchange, others[0])?.status).toBe(PENDING);
  });
});

// core/execution/future/market.go, triggerStopOrders: after each order and amendment, and at no other time.
test("it triggers within the transaction whose last trade reaches its price, and submits its order", () => {
  const exchange = withPosition();
  const { ids } = exchange.stop(ann, { fallsBelow: at(90) });
  trade(exchange, 91);
  expect(stopOf(exchange, ids[0])?.status).toBe(PENDING);
  exchange.nextBlock();
  exchange.order(dan, limit(SELL, 1, 90));
  const { events } = exchange.order(bob, limit(BUY, 1, 90));
  expect(valuesOf(events, "stopOrder")).toMatchObject([
    { stopOrder: { id: ids[0], status: TRIGGERED, updatedAt: START + 2n * SECOND } },
  ]);
  expect(submittedBy(exchange, ids[0])).toMatchObject({ status: Order_Status.FILLED, size: 4n, partyId: ann });
  expect(tradesOf(events)).toEqual(["1@90 b<d", "4@10 c<a"]);
  expect(events.at(-1)?.case).toBe("stopOrder");
  expect(valuesOf(exchange.nextBlock().end, "stopOrder")).toEqual([]);
});

test("its order has an identifier of its own, or the stop order's as in the specification", () => {
  const [own, same] = [false, true].map((keepsStopOrderIds) => {
    const exchange = withPosition({ keepsStopOrderIds });
    const [id] = exchange.stop(ann, { fallsBelow: at(100) }).ids;
    return { id, orderId: stopOf(exchange, id)?.orderId };
  });
  expect(own?.orderId).toMatch(/^[0-9a-f]{64}$/);
  expect(own?.orderId).not.toBe(own?.id);
  expect(same?.orderId).toBe(same?.id);
});

test.each([
  ["rises above", { risesAbove: at(100) }],
  ["falls below", { fallsBelow: at(100) }],
])("one whose price was passed before it came submits its order at once (%s)", (_, submission) => {
  const exchange = withPosition();
  const { outcome, events, ids } = exchange.stop(ann, submission);
  expect(outcome).toEqual(success);
  expect(tradesOf(events)).toEqual(["4@10 c<a"]);
  expect(valuesOf(events, "stopOrder")).toMatchObject([{ stopOrder: { id: ids[0], status: TRIGGERED } }]);
  expect(valuesOf(events, "stopOrder")[0]?.stopOrder?.orderId).toBe(ids[1]);
  expect(events.at(-1)?.case).toBe("stopOrder");
});

test("before the first trade none triggers", () => {
  const exchange = openExchange();
  exchange.order(ann, limit(BUY, 1, 10));
  const { ids } = exchange.stop(ann, { fallsBelow: at(100) });
  exchange.endBlock();
  expect(stopOf(exchange, ids[0])?.status).toBe(PENDING);
});

test("a pair has two identifiers, and one half stops the other", () => {
  const exchange = withPosition();
  const { ids } = exchange.stop(ann, { fallsBelow: at(80), risesAbove: at(120) });
  expect(stopOf(exchange, ids[0])).toMatchObject({ triggerDirection: FALLS_BELOW, ocoLinkId: ids[1] });
  expect(stopOf(exchange, ids[1])).toMatchObject({ triggerDirection: RISES_ABOVE, ocoLinkId: ids[0] });
  exchange.order(dan, limit(SELL, 1, 125));
  const { events } = exchange.order(bob, limit(BUY, 1, 125));
  expect(valuesOf(events, "stopOrder").map(({ stopOrder }) => stopOrder?.id)).toEqual([ids[0], ids[1]]);
  expect(stopOf(exchange, ids[0])).toMatchObject({ status: STOPPED, orderId: "" });
  expect(stopOf(exchange, ids[1])?.status).toBe(TRIGGERED);
  expect(submittedBy(exchange, ids[1])?.status).toBe(Order_Status.FILLED);
});

test("where both halves are reached at once, the first one triggers and stops the other", () => {
  const exchange = withPosition();
  const { ids } = exchange.stop(ann, { fallsBelow: at(150), risesAbove: at(50) });
  expect(ids.slice(0, 2).map((id) => stopOf(exchange, id)?.status)).toEqual([TRIGGERED, STOPPED]);
  expect(ordersOf(exchange.events).filter(({ reduceOnly }) => reduceOnly)).toHaveLength(1);
});

describe("a trailing stop order", () => {
  test("begins from the last price", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at("0.1") });
    trade(exchange, 95);
    trade(exchange, 90);
    exchange.endBlock();
    expect(stopOf(exchange, ids[0])?.status).toBe(TRIGGERED);
  });

  test("begins from the first trade where there was none", () => {
    const exchange = openExchange();
    exchange.order(ann, limit(BUY, 1, 10));
    const rise = exchange.stop(ann, { risesAbove: at("0.1", BUY) });
    const fall = exchange.stop(ann, { fallsBelow: at("0.1") });
    trade(exchange, 100);
    trade(exchange, 109);
    exchange.nextBlock();
    expect([rise, fall].map(({ ids }) => stopOf(exchange, ids[0])?.status)).toEqual([PENDING, PENDING]);
    trade(exchange, 110);
    exchange.nextBlock();
    expect([rise, fall].map(({ ids }) => stopOf(exchange, ids[0])?.status)).toEqual([TRIGGERED, PENDING]);
  });

  test("follows the highest price since it came", () => {
    const exchange = withPosition();
    trade(exchange, 400);
    trade(exchange, 100);
    const { ids } = exchange.stop(ann, { fallsBelow: at("0.1") });
    trade(exchange, 200);
    trade(exchange, 185);
    exchange.nextBlock();
    expect(stopOf(exchange, ids[0])?.status).toBe(PENDING);
    trade(exchange, 181);
    exchange.nextBlock();
    expect(stopOf(exchange, ids[0])?.status).toBe(PENDING);
    trade(exchange, 180);
    exchange.nextBlock();
    expect(stopOf(exchange, ids[0])?.status).toBe(TRIGGERED);
  });

  test("follows the lowest price, for a rise", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(bob, { risesAbove: at("0.25", BUY) });
    trade(exchange, 80);
    exchange.nextBlock();
    trade(exchange, 99);
    exchange.nextBlock();
    expect(stopOf(exchange, ids[0])?.status).toBe(PENDING);
    trade(exchange, 100);
    exchange.nextBlock();
    expect(stopOf(exchange, ids[0])?.status).toBe(TRIGGERED);
  });
});

test("an order that triggers may trigger others, each of them once", () => {
  const exchange = withPosition();
  const first = exchange.stop(ann, { fallsBelow: at(90) });
  const second = exchange.stop(ann, { fallsBelow: at(20) });
  trade(exchange, 90);
  // The first one trades at 10.
  expect([first, second].map(({ ids }) => stopOf(exchange, ids[0])?.status)).toEqual([TRIGGERED, TRIGGERED]);
  expect(tradesOf(exchange.events).slice(-2)).toEqual(["4@10 c<a", "4@10 c<a"]);
});

test("a stop order is triggered also where its order is then stopped", () => {
  const exchange = withPosition();
  const { ids } = exchange.stop(ann, { fallsBelow: at(90, BUY) }); // Would enlarge the position.
  trade(exchange, 90);
  expect(stopOf(exchange, ids[0])).toMatchObject({ status: TRIGGERED, orderId: "" });
  expect(ordersOf(exchange.events).at(-1)).toMatchObject({ partyId: ann, status: Order_Status.STOPPED });
});

describe("a size that is a share of the position", () => {
  const share = (percentage: string) => ({ sizeOverrideSetting: POSITION, sizeOverrideValue: { percentage } });
  test.each([
    ["0.5", 5n],
    ["1", 10n],
    [".25", 3n],
    ["0.12", 1n],
  ])("%s", (percentage, size) => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at(90, SELL, share(percentage)) });
    expect(stopOf(exchange, ids[0])).toMatchObject({
      sizeOverrideSetting: POSITION,
      sizeOverrideValue: { percentage },
    });
    trade(exchange, 90);
    expect(submittedBy(exchange, ids[0])).toMatchObject({ size, status: Order_Status.FILLED });
  });

  // core/execution/future/market.go, submitStopOrders: "position is flat so no order required".
  test("of a position that is no more submits nothing and says nothing, but stops the other half", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at(90, SELL, share("1")), risesAbove: at(120) });
    exchange.order(ann, limit(SELL, 10, 10));
    trade(exchange, 90);
    expect(ids.slice(0, 2).map((id) => stopOf(exchange, id)?.status)).toEqual([PENDING, STOPPED]);
    trade(exchange, 89);
    expect(ordersOf(exchange.events).filter(({ reduceOnly }) => reduceOnly)).toEqual([]);
  });

  // core/execution/stoporders/stop_orders.go, CheckDirection
  test("is cancelled where the position has changed sides", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at(5, SELL, share("1")) });
    exchange.order(ann, limit(SELL, 12, 10));
    expect(stopOf(exchange, ids[0])?.status).toBe(CANCELLED);
  });
});

describe("a stop order expires when a block begins at its time", () => {
  const expiresAt = START + 3n * SECOND;
  test("and stops its other half", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, {
      fallsBelow: at(90, SELL, { expiresAt, expiryStrategy: CANCELS }),
      risesAbove: at(120),
    });
    expect(exchange.nextBlock().begin).toEqual([]);
    const { begin } = exchange.nextBlock();
    expect(valuesOf(begin, "stopOrder")).toHaveLength(2);
    const changed = { updatedAt: expiresAt };
    expect(stopOf(exchange, ids[0])).toMatchObject({ ...changed, status: EXPIRED, expiresAt, expiryStrategy: CANCELS });
    expect(stopOf(exchange, ids[1])).toMatchObject({ ...changed, status: STOPPED });
    trade(exchange, 90);
    expect(stopOf(exchange, ids[0])?.status).toBe(EXPIRED);
  });

  test("which is kept in whole microseconds, as all times are", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, {
      fallsBelow: at(90, SELL, { expiresAt: expiresAt + 1999n, expiryStrategy: CANCELS }),
    });
    expect(stopOf(exchange, ids[0])).toMatchObject({ expiresAt: expiresAt + 1000n, status: PENDING });
    exchange.nextBlock(2n);
    expect(valuesOf(exchange.nextBlock().begin, "stopOrder")).toMatchObject([{ stopOrder: { status: EXPIRED } }]);
  });

  test("once, where the time of its other half has come too", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, {
      fallsBelow: at(90, SELL, { expiresAt, expiryStrategy: CANCELS }),
      risesAbove: at(120, SELL, { expiresAt: expiresAt + 1000n, expiryStrategy: CANCELS }),
    });
    const { begin } = exchange.nextBlock(9n);
    expect(new Set(valuesOf(begin, "stopOrder").map(({ stopOrder }) => stopOrder?.id))).toEqual(
      new Set(ids.slice(0, 2)),
    );
    expect(valuesOf(begin, "stopOrder").map(({ stopOrder }) => stopOrder?.status)).toEqual([EXPIRED, EXPIRED]);
  });

  test("one after the other", () => {
    const exchange = withPosition();
    const later = { expiresAt: expiresAt + SECOND, expiryStrategy: CANCELS };
    const second = exchange.stop(ann, { fallsBelow: at(90, SELL, later) });
    const first = exchange.stop(ann, { fallsBelow: at(90, SELL, { expiresAt, expiryStrategy: CANCELS }) });
    const expired = () => valuesOf(exchange.nextBlock().begin, "stopOrder").map(({ stopOrder }) => stopOrder?.id);
    expect([expired(), expired(), expired(), expired()]).toEqual([[], [first.ids[0]], [second.ids[0]], []]);
  });

  test("and submits its order", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at(50, SELL, { expiresAt, expiryStrategy: SUBMIT }) });
    const { begin } = exchange.nextBlock(2n);
    expect(stopOf(exchange, ids[0])?.status).toBe(EXPIRED);
    expect(submittedBy(exchange, ids[0])?.status).toBe(Order_Status.FILLED);
    expect(tradesOf(begin)).toEqual(["4@10 c<a"]);
    expect(begin.at(-1)?.case).toBe("stopOrder");
  });
});

describe("a cancellation", () => {
  test("of one half ends both", () => {
    const exchange = withPosition();
    const { ids } = exchange.stop(ann, { fallsBelow: at(80), risesAbove: at(120) });
    const { outcome, events } = exchange.cancelStops(ann, { marketId, stopOrderId: ids[1] ?? "" });
    expect(outcome).toEqual({ status: "success" });
    expect(valuesOf(events, "stopOrder")).toMatchObject([
      { stopOrder: { id: ids[1], status: CANCELLED, updatedAt: START + SECOND } },
      { stopOrder: { id: ids[0], status: CANCELLED } },
    ]);
    expect(exchange.cancelStops(ann, { marketId, stopOrderId: ids[0] ?? "" })).toMatchObject({
      outcome: success,
      events: [],
    });
  });

  test("of all on a market, or of all, leaves those of others", () => {
    const exchange = withPosition();
    const other = exchange.stop(bob, { fallsBelow: at(80, BUY) });
    for (const value of [{ marketId }, {}]) {
      const { ids } = exchange.stop(ann, { fallsBelow: at(80) });
      expect(valuesOf(exchange.cancelStops(ann, value).events, "stopOrder")).toMatchObject([
        { stopOrder: { id: ids[0], status: CANCELLED } },
      ]);
    }
    expect(stopOf(exchange, other.ids[0])?.status).toBe(PENDING);
    for (const value of [{ marketId, stopOrderId: other.ids[0] ?? "" }, {}, { marketId: "00".repeat(32) }]) {
      expect(exchange.cancelStops(ann, value)).toMatchObject({ outcome: success, events: [] });
    }
    expect(stopOf(exchange, other.ids[0])?.status).toBe(PENDING);
  });
});

describe("stop orders are rejected", () => {
  const expiresAt = START + 9n * SECOND;
  const expiring = { expiresAt, expiryStrategy: CANCELS };
  const notReducing = { orderSubmission: limit(SELL, 4, 0, { type: MARKET, timeInForce: IOC, price: "" }) };
  const share = (percentage: string) => ({ sizeOverrideSetting: POSITION, sizeOverrideValue: { percentage } });
  test.each([
    ["EXPIRY_IN_THE_PAST", { fallsBelow: at(1, SELL, { expiresAt: START, expiryStrategy: CANCELS }) }],
    ["MUST_BE_REDUCE_ONLY", { fallsBelow: at(1, SELL, notReducing), risesAbove: at(200) }],
    ["STOP_ORDER_LINKED_PERCENTAGE_INVALID", { fallsBelow: at(1, SELL, share("1.01")) }],
    [
      "STOP_ORDER_CANNOT_MATCH_OCO_EXPIRY_TIMES",
      { fallsBelow: at(1, SELL, expiring), risesAbove: at(200, SELL, expiring) },
    ],
  ])("%s", (reason, submission) => {
    const exchange = withPosition();
    const { outcome, events, ids } = exchange.stop(ann, submission);
    expect(outcome).toEqual(success);
    const rejectionReason = StopOrder_RejectionReason[reason as keyof typeof StopOrder_RejectionReason];
    const rejected = valuesOf(events, "stopOrder").map(({ stopOrder }) => stopOrder);
    expect(rejected).toHaveLength(Object.keys(submission).length);
    rejected.forEach((stop, index) => {
      expect(stop).toMatchObject({ id: ids[index], status: REJECTED, rejectionReason });
    });
  });

  test("beyond the most that a party may have", () => {
    const exchange = withPosition({ maxStopOrders: 2 });
    exchange.stop(bob, { risesAbove: at(500, BUY) });
    exchange.stop(ann, { fallsBelow: at(1) });
    const { ids } = exchange.stop(ann, { fallsBelow: at(2), risesAbove: at(500) });
    const { MAX_STOP_ORDERS_PER_PARTY_REACHED: max, STOP_ORDER_CANNOT_MATCH_OCO_EXPIRY_TIMES: match } =
      StopOrder_RejectionReason;
    expect(ids.slice(0, 2).map((id) => stopOf(exchange, id)?.rejectionReason)).toEqual([max, max]);
    // LatestEvent: the same time of expiry is looked at before the number.
    const both = exchange.stop(ann, { fallsBelow: at(2, SELL, expiring), risesAbove: at(500, SELL, expiring) });
    expect(both.ids.slice(0, 2).map((id) => stopOf(exchange, id)?.rejectionReason)).toEqual([match, match]);
    const last = exchange.stop(ann, { fallsBelow: at(2) });
    expect(stopOf(exchange, last.ids[0])?.status).toBe(PENDING);
  });

  test("without a position and an order, but not for their side", () => {
    const exchange = withPosition();
    const none = exchange.stop(dan, { fallsBelow: at(1) });
    expect(stopOf(exchange, none.ids[0])).toMatchObject({
      status: REJECTED,
      rejectionReason: StopOrder_RejectionReason.STOP_ORDER_NOT_ALLOWED_WITHOUT_A_POSITION,
    });
    const sameSide = exchange.stop(ann, { fallsBelow: at(1, BUY) });
    expect(stopOf(exchange, sameSide.ids[0])?.status).toBe(PENDING);
    exchange.order(dan, limit(BUY, 1, 10));
    const ordered = exchange.stop(dan, { fallsBelow: at(1) });
    expect(stopOf(exchange, ordered.ids[0])?.status).toBe(PENDING);
  });

  test("not at all where there is no such market", () => {
    const exchange = withPosition();
    const orderSubmission = limit(SELL, 1, 1, { marketId: "00".repeat(32), reduceOnly: true });
    const { outcome, events } = exchange.stop(ann, { fallsBelow: at(1, SELL, { orderSubmission }) });
    expect(outcome).toEqual(success);
    expect(events).toEqual([]);
  });

  test.each([
    [Market_State.PENDING, Market_TradingMode.OPENING_AUCTION, "STOP_ORDER_NOT_ALLOWED_DURING_OPENING_AUCTION"],
    [Market_State.SETTLED, Market_TradingMode.NO_TRADING, "TRADING_NOT_ALLOWED"],
  ])("by a market's state (%p, %p)", (state, tradingMode, reason) => {
    const exchange = openExchange(marketOf({ state, tradingMode }));
    const { outcome, ids } = exchange.stop(ann, { fallsBelow: at(2) });
    expect(outcome).toEqual(success);
    const rejectionReason = StopOrder_RejectionReason[reason as keyof typeof StopOrder_RejectionReason];
    expect(stopOf(exchange, ids[0])).toMatchObject({ status: REJECTED, rejectionReason });
  });
});

test("in an auction none triggers", () => {
  const exchange = openExchange(marketOf({ tradingMode: Market_TradingMode.MONITORING_AUCTION }), {
    lastPrices: new Map([[marketId, "50"]]),
  });
  exchange.order(ann, limit(BUY, 1, 10));
  const { ids } = exchange.stop(ann, { fallsBelow: at(60) });
  exchange.endBlock();
  expect(stopOf(exchange, ids[0])?.status).toBe(PENDING);
});

test("the first stop order of a batch has the identifier of the last order", () => {
  const exchange = withPosition();
  const { outcome, ids } = exchange.batch(ann, {
    submissions: [limit(BUY, 1, 900), limit(BUY, 1, 901)],
    stopOrdersSubmission: [{ fallsBelow: at(5), risesAbove: at(2000) }, { fallsBelow: at(4) }],
  });
  expect(outcome).toEqual(success);
  expect(ids.slice(0, 2).map((id) => orderOf(exchange, id)?.price)).toEqual(["900", "901"]);
  expect(ids.slice(1, 4).map((id) => stopOf(exchange, id)?.trigger.value)).toEqual(["5", "2000", "4"]);
});

test("the engine goes on from stop orders that wait", () => {
  const before = withPosition();
  const { events, ids } = before.stop(ann, { fallsBelow: at("0.5") });
  const exchange = openExchange(marketOf(), {
    stopOrders: valuesOf(events, "stopOrder"),
    positions: valuesOf(before.events, "position").filter(({ partyId }) => partyId === ann),
    lastPrices: new Map([[marketId, "100"]]),
  });
  trade(exchange, 51);
  exchange.nextBlock();
  expect(stopOf(exchange, ids[0])).toBeUndefined();
  trade(exchange, 50);
  exchange.nextBlock();
  expect(stopOf(exchange, ids[0])?.status).toBe(TRIGGERED);
});
