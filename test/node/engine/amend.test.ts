import { describe, expect, test } from "@jest/globals";
import { Order_Status, OrderError } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  BUY,
  bob,
  bookOf,
  cat,
  FOK,
  failure,
  GFN,
  GTC,
  GTT,
  IOC,
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

const { ACTIVE, CANCELLED, EXPIRED, FILLED, STOPPED } = Order_Status;

function withTwo() {
  const exchange = openExchange();
  const first = exchange.order(ann, limit(BUY, 10, 100)).ids[0] ?? "";
  const second = exchange.order(bob, limit(BUY, 10, 100)).ids[0] ?? "";
  exchange.nextBlock();
  return { exchange, first, second };
}

test("an order that shrinks keeps its priority", () => {
  const { exchange, first } = withTwo();
  const { outcome, events } = exchange.amend(ann, { orderId: first, sizeDelta: -4n });
  expect(outcome).toEqual({ status: "success" });
  expect(valuesOf(events, "order")).toMatchObject([
    { id: first, size: 6n, remaining: 6n, version: 2n, createdAt: START, updatedAt: START + SECOND, status: ACTIVE },
  ]);
  expect(tradesOf(exchange.order(cat, limit(SELL, 7, 100)).events)).toEqual(["6@100 a<c", "1@100 b<c"]);
});

test.each([
  ["grows", { sizeDelta: 2n }, 12n],
  ["is given a larger size", { size: 12n }, 12n],
])("an order that %s goes to the back", (_, change, size) => {
  const { exchange, first } = withTwo();
  exchange.amend(ann, { orderId: first, ...change });
  expect(orderOf(exchange, first)).toMatchObject({ size, remaining: size, version: 2n });
  expect(tradesOf(exchange.order(cat, limit(SELL, 11, 100)).events)).toEqual(["10@100 b<c", "1@100 a<c"]);
});

test("an order that comes back to its price has lost its priority", () => {
  const { exchange, first } = withTwo();
  exchange.amend(ann, { orderId: first, price: "99" });
  expect(bookOf(exchange).buy).toEqual(["100: 10 (1)", "99: 10 (1)"]);
  exchange.amend(ann, { orderId: first, price: "100" });
  expect(orderOf(exchange, first)?.version).toBe(3n);
  expect(tradesOf(exchange.order(cat, limit(SELL, 1, 100)).events)).toEqual(["1@100 b<c"]);
});

test("a new time in force does not cost the priority", () => {
  const { exchange, first } = withTwo();
  const expiresAt = START + 10n * SECOND;
  exchange.amend(ann, { orderId: first, timeInForce: GTT, expiresAt: expiresAt + 7n });
  expect(orderOf(exchange, first)).toMatchObject({ timeInForce: GTT, expiresAt, version: 2n });
  exchange.amend(ann, { orderId: first, expiresAt: expiresAt - SECOND });
  expect(orderOf(exchange, first)).toMatchObject({ timeInForce: GTT, expiresAt: expiresAt - SECOND, version: 3n });
  exchange.amend(ann, { orderId: first, timeInForce: GTC });
  expect(orderOf(exchange, first)).toMatchObject({ timeInForce: GTC, expiresAt: 0n, version: 4n });
  expect(valuesOf(exchange.nextBlock(20n).begin, "order")).toEqual([]);
  expect(tradesOf(exchange.order(cat, limit(SELL, 1, 100)).events)).toEqual(["1@100 a<c"]);
});

test("an order that was amended to expire does", () => {
  const { exchange, first } = withTwo();
  exchange.amend(ann, { orderId: first, timeInForce: GTT, expiresAt: START + 3n * SECOND });
  expect(ordersOf(exchange.nextBlock(2n).begin)).toMatchObject([{ id: first, status: EXPIRED }]);
});

test("an order expires whose new time has come, and one that has nothing left is cancelled", () => {
  const { exchange, first, second } = withTwo();
  const expiresAt = START + SECOND - 1000n;
  const past = exchange.amend(ann, { orderId: first, timeInForce: GTT, expiresAt });
  expect(past.outcome).toEqual({ status: "success" });
  expect(past.events).toMatchObject([{ case: "order", value: { status: EXPIRED, expiresAt, version: 2n } }]);
  exchange.order(cat, limit(SELL, 4, 100));
  const nothing = exchange.amend(bob, { orderId: second, size: 4n });
  expect(nothing.outcome).toEqual({ status: "success" });
  expect(valuesOf(nothing.events, "cancelledOrders")).toMatchObject([{ partyId: bob, orderIds: [second] }]);
  expect(orderOf(exchange, second)).toMatchObject({ status: CANCELLED, size: 10n, remaining: 6n, version: 1n });
  expect(bookOf(exchange)).toEqual({ buy: [], sell: [] });
});

test("an amended order trades, with identifiers of its own for the trades", () => {
  const exchange = openExchange();
  const orderId = exchange.order(ann, limit(BUY, 10, 100)).ids[0] ?? "";
  exchange.order(bob, limit(SELL, 2, 105));
  exchange.order(bob, limit(SELL, 3, 106));
  const first = exchange.amend(ann, { orderId, price: "105" });
  expect(tradesOf(first.events)).toEqual(["2@105 a<b"]);
  expect(orderOf(exchange, orderId)).toMatchObject({ status: ACTIVE, price: "105", size: 10n, remaining: 8n });
  const second = exchange.amend(ann, { orderId, price: "107", sizeDelta: -5n });
  expect(tradesOf(second.events)).toEqual(["3@106 a<b"]);
  expect(orderOf(exchange, orderId)).toMatchObject({ status: FILLED, size: 5n, remaining: 0n, version: 3n });
  expect(new Set(valuesOf(exchange.events, "trade").map(({ id }) => id)).size).toBe(2);
  expect(exchange.amend(ann, { orderId, sizeDelta: 1n }).outcome).toEqual(failure("OrderError: Invalid Order ID"));
});

test("an amended order that meets one of its own party is stopped", () => {
  const exchange = openExchange();
  const orderId = exchange.order(ann, limit(BUY, 10, 100)).ids[0] ?? "";
  exchange.order(ann, limit(SELL, 10, 101));
  exchange.amend(ann, { orderId, price: "101" });
  expect(orderOf(exchange, orderId)).toMatchObject({ status: STOPPED, reason: OrderError.SELF_TRADING });
  expect(bookOf(exchange)).toEqual({ buy: [], sell: ["101: 10 (1)"] });
});

// Texts are those of core/execution/future/market.go and protos/vega/errors.go.
describe("an amendment fails, and the order stays as it is", () => {
  const none = "00".repeat(32);
  test.each([
    ["OrderError: Invalid Market ID", { marketId: none }],
    ["OrderError: Invalid Order ID", { orderId: none }],
    ["OrderError: Cannot amend order to GTT without an expiryAt field", { timeInForce: GTT }],
    ["OrderError: Cannot amend TIF to FOK or IOC", { timeInForce: IOC }],
    ["OrderError: Cannot amend TIF to FOK or IOC", { timeInForce: FOK }],
    ["OrderError: Cannot amend TIF to GFA or GFN", { timeInForce: GFN }],
    ["OrderError: Cannot set ExpiryAt and GTC", { timeInForce: GTC, expiresAt: START * 2n }],
    ["OrderError: Invalid Expiration Datetime", { expiresAt: START - 1000n }],
    ["OrderError: ExpiryAt field must not be before CreatedAt", { timeInForce: GTT, expiresAt: START }],
    ["OrderError: cannot amend pegged details on a non pegged order", { peggedOffset: "1" }],
    ["OrderError: price not in tick size", { price: "97" }],
    ["OrderError: Invalid Size", { sizeDelta: 2n ** 62n }],
    ["couldn't insert order in book", { price: "105" }],
  ])("%s", (text, change) => {
    const exchange = openExchange(marketOf({ tickSize: "5" }));
    const orderId = exchange.order(ann, limit(BUY, 10, 100, { postOnly: true })).ids[0] ?? "";
    exchange.order(bob, limit(SELL, 10, 105));
    const { outcome, events } = exchange.amend(ann, { orderId, ...change });
    expect(outcome).toEqual(failure(text));
    expect(ordersOf(events)).toEqual([]);
    expect(bookOf(exchange)).toEqual({ buy: ["100: 10 (1)"], sell: ["105: 10 (1)"] });
  });

  test("of another party, or from GFN", () => {
    const exchange = openExchange();
    const orderId = exchange.order(ann, limit(BUY, 10, 100, { timeInForce: GFN })).ids[0] ?? "";
    expect(exchange.amend(bob, { orderId, size: 1n }).outcome).toEqual(failure("OrderError: Invalid Party ID"));
    expect(exchange.amend(ann, { orderId, marketId: marketId.toUpperCase(), timeInForce: GTC }).outcome).toEqual(
      failure("OrderError: Cannot amend TIF from GFA or GFN"),
    );
  });
});
