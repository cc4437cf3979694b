import { expect, test } from "@jest/globals";
import { Order_Status } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  BUY,
  bob,
  bookOf,
  cat,
  dan,
  limit,
  marketId,
  openExchange,
  orderOf,
  ordersOf,
  SELL,
  tradesOf,
} from "./exchange.js";

const iceberg = (peakSize: bigint, minimumVisibleSize: bigint) => ({ icebergOpts: { peakSize, minimumVisibleSize } });
const shownOf = (exchange: Parameters<typeof orderOf>[0], id: string | undefined) => {
  const order = orderOf(exchange, id);
  return [order?.remaining, order?.icebergOrder?.reservedRemaining, order?.status];
};
const { ACTIVE, FILLED, CANCELLED } = Order_Status;

test("an iceberg shows its peak, and the book counts all of it", () => {
  const exchange = openExchange();
  const { ids } = exchange.order(ann, limit(BUY, 25, 100, iceberg(10n, 3n)));
  expect(shownOf(exchange, ids[0])).toEqual([10n, 15n, ACTIVE]);
  expect(bookOf(exchange).buy).toEqual(["100: 25 (1)"]);
});

test("what is shown is filled up when it falls below the minimum, and the order goes to the back", () => {
  const exchange = openExchange();
  const { ids } = exchange.order(ann, limit(BUY, 25, 100, iceberg(10n, 3n)));
  exchange.order(bob, limit(BUY, 5, 100));
  expect(tradesOf(exchange.order(cat, limit(SELL, 7, 100)).events)).toEqual(["7@100 a<c"]);
  expect(shownOf(exchange, ids[0])).toEqual([3n, 15n, ACTIVE]); // It is at the minimum, and still first.
  expect(tradesOf(exchange.order(cat, limit(SELL, 1, 100)).events)).toEqual(["1@100 a<c"]);
  expect(shownOf(exchange, ids[0])).toEqual([10n, 7n, ACTIVE]);
  expect(tradesOf(exchange.order(cat, limit(SELL, 6, 100)).events)).toEqual(["5@100 b<c", "1@100 a<c"]);
  expect(shownOf(exchange, ids[0])).toEqual([9n, 7n, ACTIVE]);
});

test("what icebergs hide trades after all that is shown at a price, shared by size, in one trade with each", () => {
  const exchange = openExchange();
  const first = exchange.order(ann, limit(BUY, 11, 100, iceberg(1n, 1n)));
  const second = exchange.order(bob, limit(BUY, 31, 100, iceberg(1n, 1n)));
  exchange.order(dan, limit(BUY, 4, 100));
  // 6 are shown; of the 9 left, 10/40 and 30/40 are 2 and 6, and the one that rounding leaves goes to the first.
  expect(tradesOf(exchange.order(cat, limit(SELL, 15, 100)).events)).toEqual(["4@100 a<c", "7@100 b<c", "4@100 d<c"]);
  expect(shownOf(exchange, first.ids[0])).toEqual([1n, 6n, ACTIVE]);
  expect(shownOf(exchange, second.ids[0])).toEqual([1n, 23n, ACTIVE]);
  const { events, ids } = exchange.order(cat, limit(SELL, 100, 100));
  expect(tradesOf(events)).toEqual(["7@100 a<c", "24@100 b<c"]);
  expect(shownOf(exchange, first.ids[0])).toEqual([0n, 0n, FILLED]);
  expect(orderOf(exchange, ids[0])?.remaining).toBe(69n);
});

test("an iceberg that comes in trades with all of its size, and then shows its peak", () => {
  const exchange = openExchange();
  exchange.order(ann, limit(SELL, 12, 100));
  const { events, ids } = exchange.order(bob, limit(BUY, 25, 100, iceberg(10n, 2n)));
  expect(tradesOf(events)).toEqual(["12@100 b<a"]);
  expect(shownOf(exchange, ids[0])).toEqual([10n, 3n, ACTIVE]);
});

test("an amendment grows and shrinks what is hidden first", () => {
  const exchange = openExchange();
  const { ids } = exchange.order(ann, limit(BUY, 25, 100, iceberg(10n, 2n)));
  const orderId = ids[0] ?? "";
  exchange.amend(ann, { orderId, sizeDelta: -5n });
  expect(shownOf(exchange, orderId)).toEqual([10n, 10n, ACTIVE]);
  exchange.amend(ann, { orderId, size: 22n });
  expect(shownOf(exchange, orderId)).toEqual([10n, 12n, ACTIVE]);
  exchange.amend(ann, { orderId, size: 6n });
  expect(shownOf(exchange, orderId)).toEqual([6n, 0n, ACTIVE]);
  exchange.cancel(ann, { marketId, orderId });
  expect(ordersOf(exchange.events).at(-1)).toMatchObject({ status: CANCELLED, size: 6n, remaining: 6n });
});

test("an iceberg of many pieces trades in one trade", () => {
  const exchange = openExchange();
  exchange.order(ann, limit(BUY, 10n ** 18n, 1, iceberg(1n, 1n)));
  expect(tradesOf(exchange.order(bob, limit(SELL, 10n ** 17n, 1)).events)).toEqual([`${10n ** 17n}@1 a<b`]);
});
