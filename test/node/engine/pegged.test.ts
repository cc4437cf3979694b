import { describe, expect, test } from "@jest/globals";
import { Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { Order_Status, PeggedReference } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  BUY,
  bob,
  bookOf,
  cat,
  dan,
  failure,
  limit,
  marketId,
  marketOf,
  openExchange,
  orderOf,
  SELL,
  START,
  tradesOf,
  valuesOf,
} from "./exchange.js";

const { MID, BEST_BID, BEST_ASK } = PeggedReference;
const { ACTIVE, PARKED, CANCELLED } = Order_Status;
const peg = (reference: PeggedReference, offset: number) => ({
  price: "",
  peggedOrder: { reference, offset: String(offset) },
});

function withSpread(bid = 90, ask = 101) {
  const exchange = openExchange();
  const low = exchange.order(ann, limit(BUY, 5, bid));
  const high = exchange.order(ann, limit(SELL, 5, ask));
  return { exchange, low: low.ids[0] ?? "", high: high.ids[0] ?? "" };
}

test.each([
  [BUY, BEST_BID, 3, "87"],
  [SELL, BEST_ASK, 3, "104"],
  [BUY, MID, 1, "95"], // The middle of 90 and 101 is 95.5: rounded up for a buyer, down for a seller.
  [SELL, MID, 1, "96"],
])("a pegged order keeps its offset (%p, %p, %p)", (side, reference, offset, price) => {
  const { exchange } = withSpread();
  const { outcome, ids } = exchange.order(bob, limit(side, 2, 0, peg(reference, offset)));
  expect(outcome).toEqual({ status: "success" });
  expect(orderOf(exchange, ids[0])).toMatchObject({ status: ACTIVE, price, remaining: 2n, version: 1n });
});

test("its price is rounded away from the market to a tick", () => {
  const exchange = openExchange(marketOf({ tickSize: "10" }));
  exchange.order(ann, limit(BUY, 5, 100));
  exchange.order(ann, limit(SELL, 5, 150));
  const low = exchange.order(bob, limit(BUY, 2, 0, peg(MID, 10)));
  const high = exchange.order(bob, limit(SELL, 2, 0, peg(MID, 10)));
  expect(orderOf(exchange, low.ids[0])?.price).toBe("110");
  expect(orderOf(exchange, high.ids[0])?.price).toBe("140");
});

test("a pegged order moves when its reference does, after the command that moved it, and is parked without one", () => {
  const { exchange } = withSpread();
  const { ids } = exchange.order(bob, limit(BUY, 2, 0, peg(BEST_BID, 3)));
  exchange.nextBlock();
  const better = exchange.order(cat, limit(BUY, 1, 95));
  expect(valuesOf(better.events, "order")).toMatchObject([
    { id: better.ids[0] },
    { id: ids[0], status: ACTIVE, price: "92", version: 1n, updatedAt: START + 1_000_000_000n },
  ]);
  expect(bookOf(exchange).buy).toEqual(["95: 1 (1)", "92: 2 (1)", "90: 5 (1)"]);
  exchange.cancel(cat);
  expect(orderOf(exchange, ids[0])?.price).toBe("87");
  exchange.cancel(ann);
  expect(orderOf(exchange, ids[0])).toMatchObject({ status: PARKED, price: "0", remaining: 2n });
  expect(bookOf(exchange)).toEqual({ buy: [], sell: [] });
  exchange.order(cat, limit(BUY, 1, 50));
  expect(orderOf(exchange, ids[0])).toMatchObject({ status: ACTIVE, price: "47" });
});

test("pegged orders that move keep their order, in which an amended one comes last", () => {
  const { exchange } = withSpread();
  const first = exchange.order(bob, limit(BUY, 2, 0, peg(BEST_BID, 3))).ids[0] ?? "";
  exchange.order(cat, limit(BUY, 2, 0, peg(BEST_BID, 3)));
  exchange.order(ann, limit(BUY, 1, 91));
  expect(tradesOf(exchange.order(dan, limit(SELL, 9, 88)).events)).toEqual([
    "1@91 a<d",
    "5@90 a<d",
    "2@88 b<d",
    "1@88 c<d",
  ]);
  const second = withSpread();
  const amended = second.exchange.order(bob, limit(BUY, 2, 0, peg(BEST_BID, 4))).ids[0] ?? "";
  second.exchange.order(cat, limit(BUY, 2, 0, peg(BEST_BID, 3)));
  second.exchange.amend(bob, { orderId: amended, peggedOffset: "3" });
  second.exchange.order(ann, limit(BUY, 1, 91));
  expect(tradesOf(second.exchange.order(dan, limit(SELL, 7, 88)).events).slice(2)).toEqual(["1@88 c<d"]);
  expect(orderOf(exchange, first)?.status).toBe(Order_Status.FILLED);
});

test("pegged orders do not refer to each other", () => {
  const { exchange, low } = withSpread();
  const { ids } = exchange.order(bob, limit(BUY, 2, 0, peg(MID, 1)));
  expect(orderOf(exchange, ids[0])?.price).toBe("95");
  const second = exchange.order(cat, limit(BUY, 2, 0, peg(BEST_BID, 1)));
  expect(orderOf(exchange, second.ids[0])?.price).toBe("89");
  exchange.cancel(ann, { marketId, orderId: low });
  expect(orderOf(exchange, second.ids[0])?.status).toBe(PARKED);
});

test("a pegged order trades, and one whose price would not be above 0 is parked", () => {
  const { exchange } = withSpread();
  exchange.order(bob, limit(SELL, 2, 0, peg(MID, 1)));
  expect(tradesOf(exchange.order(cat, limit(BUY, 1, 96)).events)).toEqual(["1@96 c<b"]);
  const { ids } = exchange.order(bob, limit(BUY, 2, 0, peg(BEST_BID, 90)));
  expect(orderOf(exchange, ids[0])?.status).toBe(PARKED);
});

test("in an auction a pegged order is parked, and can be cancelled", () => {
  const exchange = openExchange(marketOf({ tradingMode: Market_TradingMode.MONITORING_AUCTION }));
  exchange.order(ann, limit(BUY, 5, 90));
  const iceberg = { icebergOpts: { peakSize: 2n, minimumVisibleSize: 1n } };
  const { ids } = exchange.order(bob, limit(BUY, 5, 0, { ...peg(BEST_BID, 1), ...iceberg }));
  expect(orderOf(exchange, ids[0])).toMatchObject({ status: PARKED, remaining: 2n });
  expect(exchange.cancel(bob, { marketId, orderId: ids[0] ?? "" }).outcome).toEqual({ status: "success" });
  expect(orderOf(exchange, ids[0])?.status).toBe(CANCELLED);
  expect(bookOf(exchange).buy).toEqual(["90: 5 (1)"]);
});

describe("the amendment of a pegged order", () => {
  test("moves it", () => {
    const { exchange } = withSpread();
    const { ids } = exchange.order(bob, limit(BUY, 2, 0, peg(BEST_BID, 3)));
    const orderId = ids[0] ?? "";
    exchange.amend(bob, { orderId, peggedOffset: "5" });
    expect(orderOf(exchange, orderId)).toMatchObject({ price: "85", version: 2n, peggedOrder: { offset: "5" } });
    exchange.amend(bob, { orderId, peggedReference: MID });
    expect(orderOf(exchange, orderId)).toMatchObject({ price: "91", version: 3n, peggedOrder: { reference: MID } });
    expect(bookOf(exchange).buy).toEqual(["91: 2 (1)", "90: 5 (1)"]);
  });

  test.each([
    [{ price: "80" }, "invalid OrderError"],
    [{ peggedReference: BEST_ASK }, "OrderError: buy cannot reference best ask price"],
    [{ peggedReference: MID, peggedOffset: "0" }, "OrderError: offset must be greater than zero"],
  ])("fails with %p", (change, text) => {
    const { exchange } = withSpread();
    const orderId = exchange.order(bob, limit(BUY, 2, 0, peg(BEST_BID, 3))).ids[0] ?? "";
    expect(exchange.amend(bob, { orderId, ...change })).toMatchObject({
      outcome: failure(text),
      events: [],
    });
  });
});
