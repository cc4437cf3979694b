import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import {
  AuctionTrigger,
  MarketDataSchema,
  Order_Status,
  OrderSchema,
  PeggedOrderSchema,
  PeggedReference,
} from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  BUY,
  bob,
  bookOf,
  cat,
  GTC,
  LIMIT,
  limit,
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

describe("the data of a market", () => {
  test("is told at the end of a block that changed it", () => {
    const exchange = openExchange();
    exchange.order(ann, limit(BUY, 5, 100));
    exchange.order(bob, limit(BUY, 6, 100));
    exchange.order(bob, limit(SELL, 7, 107));
    exchange.order(cat, limit(BUY, 2, 0, { price: "", peggedOrder: { reference: PeggedReference.MID, offset: "2" } }));
    const [data, ...others] = valuesOf(exchange.endBlock(), "marketData");
    expect(others).toEqual([]);
    expect(data).toMatchObject({
      market: marketId,
      timestamp: START,
      bestBidPrice: "102",
      bestBidVolume: 2n,
      bestOfferPrice: "107",
      bestOfferVolume: 7n,
      bestStaticBidPrice: "100",
      bestStaticBidVolume: 11n,
      bestStaticOfferPrice: "107",
      bestStaticOfferVolume: 7n,
      midPrice: "104",
      staticMidPrice: "103",
      markPrice: "0",
      lastTradedPrice: "0",
      openInterest: 0n,
    });
    expect(exchange.nextBlock().end).toEqual([]);
    exchange.order(ann, limit(BUY, 3, 107));
    expect(valuesOf(exchange.endBlock(), "marketData")).toMatchObject([
      { markPrice: "107", lastTradedPrice: "107", openInterest: 3n, timestamp: START + SECOND, bestOfferVolume: 4n },
    ]);
  });

  test("keeps what the engine does not compute", () => {
    const marketData = [
      create(MarketDataSchema, {
        market: marketId,
        targetStake: "12.5",
        trigger: AuctionTrigger.PRICE,
        auctionStart: 7n,
      }),
    ];
    const exchange = openExchange(marketOf(), { marketData, lastPrices: new Map([[marketId, "88"]]) });
    exchange.order(ann, limit(BUY, 1, 80));
    expect(valuesOf(exchange.endBlock(), "marketData")).toMatchObject([
      { targetStake: "12.5", trigger: AuctionTrigger.PRICE, auctionStart: 7n, markPrice: "88", bestBidPrice: "80" },
    ]);
  });
});

test("the book has levels, counts orders, and knows the block that changed it", () => {
  const exchange = openExchange();
  for (const price of [100, 99, 98, 97]) {
    exchange.order(ann, limit(BUY, 1, price));
    exchange.order(bob, limit(BUY, 2, price));
    exchange.order(cat, limit(SELL, 1, price + 10));
  }
  expect(bookOf(exchange)).toEqual({
    buy: ["100: 3 (2)", "99: 3 (2)", "98: 3 (2)", "97: 3 (2)"],
    sell: ["107: 1 (1)", "108: 1 (1)", "109: 1 (1)", "110: 1 (1)"],
  });
  expect(exchange.engine.depth(marketId, 2)).toMatchObject({
    marketId,
    buy: [{ price: "100" }, { price: "99" }],
    sell: [{ price: "107" }, { price: "108" }],
    sequenceNumber: 0n,
  });
  exchange.nextBlock();
  exchange.nextBlock();
  expect(exchange.engine.depth(marketId).sequenceNumber).toBe(1n);
  expect(exchange.engine.depth("00".repeat(32))).toMatchObject({ buy: [], sell: [], sequenceNumber: 0n });
});

test("the engine goes on from orders that rest, in their order", () => {
  const resting = (id: string, partyId: string, remaining: bigint) =>
    create(OrderSchema, {
      id: id.repeat(32),
      marketId,
      partyId,
      side: BUY,
      price: "100",
      size: 9n,
      remaining,
      type: LIMIT,
      timeInForce: GTC,
      status: Order_Status.ACTIVE,
      version: 2n,
    });
  const peggedOrder = create(PeggedOrderSchema, { reference: PeggedReference.BEST_BID, offset: "5" });
  const exchange = openExchange(marketOf(), {
    orders: [resting("0b", bob, 4n), resting("0a", ann, 9n), { ...resting("0c", ann, 9n), price: "90", peggedOrder }],
  });
  expect(exchange.endBlock()).toEqual([]);
  expect(bookOf(exchange).buy).toEqual(["100: 13 (2)", "90: 9 (1)"]);
  const { events } = exchange.order(cat, limit(SELL, 5, 100));
  expect(tradesOf(events)).toEqual(["4@100 b<c", "1@100 a<c"]);
  expect(orderOf(exchange, "0a".repeat(32))).toMatchObject({ remaining: 8n, version: 2n });
  expect(orderOf(exchange, "0c".repeat(32))).toBeUndefined(); // Its reference has not moved.
  expect(exchange.engine.depth(marketId).sequenceNumber).toBe(0n);
});

describe("a batch", () => {
  test("is carried out part by part, in the network's order, with identifiers in the order of its submissions", () => {
    const exchange = openExchange();
    const old = exchange.order(ann, limit(BUY, 1, 90)).ids[0] ?? "";
    const grown = exchange.order(ann, limit(BUY, 1, 91)).ids[0] ?? "";
    exchange.order(bob, limit(SELL, 1, 95));
    const { outcome, events, ids } = exchange.batch(ann, {
      submissions: [limit(BUY, 2, 95), limit(BUY, 3, 94)],
      amendments: [{ orderId: grown, marketId, sizeDelta: 4n }],
      cancellations: [{ orderId: old, marketId }],
    });
    expect(outcome).toEqual({ status: "success" });
    expect(ordersOf(events).map(({ id }) => id)).toEqual([old, grown, ids[0], expect.stringMatching(/./), ids[1]]);
    expect(bookOf(exchange).buy).toEqual(["95: 1 (1)", "94: 3 (1)", "91: 5 (1)"]);
  });

  test("fails in part, with the places of the parts that failed", () => {
    const exchange = openExchange();
    const none = "00".repeat(32);
    const { outcome } = exchange.batch(ann, {
      cancellations: [{ orderId: none, marketId }, { marketId }],
      submissions: [limit(BUY, 1, 90), limit(BUY, 1, 90, { marketId: none })],
    });
    expect(outcome).toEqual({
      status: "partial",
      errors: [
        { key: "0", error: "unable to find the order in the market" },
        { key: "3", error: "OrderError: Invalid Market ID" },
      ],
    });
    expect(bookOf(exchange).buy).toEqual(["90: 1 (1)"]);
  });

  test("fails where no part is carried out", () => {
    const exchange = openExchange();
    const { outcome } = exchange.batch(ann, { submissions: [limit(BUY, 0, 90)] });
    expect(outcome).toEqual({ status: "failure", errors: [{ key: "0", error: "OrderError: Invalid Size" }] });
  });
});

// core/processor/batch_market_instructions_processor.go, and recorded: cancellations of stop orders are counted by themselves.
test("a batch amends an order once, and counts cancellations of stop orders by themselves", () => {
  const exchange = openExchange();
  const orderId = exchange.order(ann, limit(BUY, 5, 90)).ids[0] ?? "";
  const { outcome } = exchange.batch(ann, {
    amendments: [
      { orderId, marketId, sizeDelta: 1n },
      { orderId, marketId, sizeDelta: 1n },
    ],
    stopOrdersCancellation: [{ marketId }, { marketId, stopOrderId: "00".repeat(32) }],
  });
  expect(outcome).toEqual({
    status: "partial",
    errors: [
      { key: "1", error: "order already amended in batch" },
      { key: "0", error: "OrderError: Invalid Market ID" },
      { key: "1", error: "stop order not found" },
    ],
  });
  expect(orderOf(exchange, orderId)?.size).toBe(6n);
});

test("what was kept can be restored again and again", () => {
  const exchange = openExchange();
  exchange.order(ann, limit(BUY, 5, 100));
  exchange.nextBlock();
  const saved = exchange.engine.save();
  const run = () => {
    exchange.order(bob, limit(SELL, 2, 100));
    exchange.endBlock();
    exchange.cancel(ann);
    return bookOf(exchange);
  };
  for (let turn = 0; turn < 3; turn += 1) {
    exchange.engine.restore(saved);
    expect(bookOf(exchange).buy).toEqual(["100: 5 (1)"]);
    expect(run().buy).toEqual([]);
  }
});
