import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import { Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { AccountType, Order_Status, PeggedReference, type Side } from "tradewire/gen/vega/vega_pb.js";
import { runs } from "../../support/tier.js";
import {
  ann,
  asset,
  BUY,
  bob,
  cat,
  dan,
  type Exchange,
  FOK,
  GTC,
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
  valuesOf,
} from "./exchange.js";
import { type Event, trueRemaining } from "./inside.js";

const parties = [ann, bob, cat, dan];
const auction = "dd".repeat(32);

const small = fc.nat({ max: 40 });
const action = fc.record({
  kind: fc.constantFrom("order", "order", "order", "special", "amend", "cancel", "stop", "block"),
  party: fc.constantFrom(...parties),
  side: fc.constantFrom(BUY, SELL),
  size: fc.integer({ min: 1, max: 30 }),
  price: fc.integer({ min: 85, max: 115 }),
  timeInForce: fc.constantFrom(GTC, GTC, GTC, GTT, IOC, FOK),
  market: fc.constantFrom(marketId, marketId, marketId, auction),
  pick: small,
  more: small,
});
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** An exchange with a market that trades and one in an auction, and how to take an action. */
function openBoth() {
  const fees = { factors: { makerFee: "0.0003", infrastructureFee: "0.0005", liquidityFee: "0.0011" } };
  const exchange = openExchange(marketOf(), {
    markets: [
      marketOf({ decimalPlaces: 2n, positionDecimalPlaces: 1n, fees }),
      marketOf({ id: auction, tradingMode: Market_TradingMode.MONITORING_AUCTION }),
    ],
    assets: [create(AssetSchema, { id: asset, details: { decimals: 2n } })],
    startingBalance: "40",
    maxStopOrders: 6,
  });
  const ids: string[] = [];
  let seconds = 0n;

  function act({ kind, party, side, size, price, timeInForce, market, pick, more }: Action): void {
    const orderId = ids[ids.length - 1 - (pick % ids.length)] ?? "00".repeat(32);
    const expiresAt = START + (seconds + BigInt(1 + (more % 4))) * SECOND;
    const expiry = timeInForce === GTT ? { timeInForce, expiresAt } : { timeInForce };
    const flags = {
      postOnly: more % 7 === 0,
      reduceOnly: more % 5 === 0 && (timeInForce === IOC || timeInForce === FOK),
    };
    switch (kind) {
      case "order": {
        ids.push(
          exchange.order(party, limit(side, size, price, { ...expiry, ...flags, marketId: market })).ids[0] ?? "",
        );
        break;
      }
      case "special": {
        const peak = BigInt(1 + (more % size));
        const special = [
          { icebergOpts: { peakSize: peak, minimumVisibleSize: 1n + (BigInt(pick) % peak) } },
          { price: "", peggedOrder: { reference: PeggedReference.MID, offset: String(1 + (more % 5)) } },
          { price: "", peggedOrder: { reference: side === BUY ? 2 : 3, offset: String(1 + (more % 5)) } },
          { type: MARKET, timeInForce: IOC, price: "" },
        ][more % 4];
        ids.push(exchange.order(party, limit(side, size, price, { ...special, marketId: market })).ids[0] ?? "");
        break;
      }
      case "amend": {
        const owner = orderOf(exchange, orderId)?.partyId ?? party;
        const change = [
          { sizeDelta: BigInt(size - 15) },
          { price: String(price) },
          { size: BigInt(size) },
          { peggedOffset: "7" },
          { timeInForce: GTT, expiresAt },
        ][more % 5];
        exchange.amend(owner, { orderId, marketId: market, ...change });
        break;
      }
      case "cancel":
        exchange.cancel(party, more === 0 ? {} : { marketId, orderId });
        break;
      case "stop": {
        const orderSubmission = limit(side, size, 0, { type: MARKET, timeInForce: IOC, price: "", reduceOnly: true });
        const trigger =
          more % 2 === 0
            ? ({ case: "price", value: String(price) } as const)
            : ({ case: "trailingPercentOffset", value: "0.04" } as const);
        const half = { orderSubmission, trigger };
        exchange.stop(party, {
          ...(more % 3 > 0 && { fallsBelow: half }),
          ...(more % 3 < 2 && {
            risesAbove: { ...half, expiresAt: expiresAt + SECOND, expiryStrategy: 1 + (more % 2) },
          }),
        });
        break;
      }
      case "block":
        exchange.nextBlock();
        seconds += 1n;
        break;
    }
  }
  return { exchange, act };
}

/** The book of a market as its orders tell it. */
function bookByOrders(exchange: Exchange, id: string) {
  const latest = new Map(ordersOf(exchange.events).map((order) => [order.id, order]));
  const resting = [...latest.values()].filter((order) => order.marketId === id && order.status === Order_Status.ACTIVE);
  const levels = (side: Side) => {
    const prices = [...new Set(resting.filter((order) => order.side === side).map(({ price }) => Number(price)))];
    return prices
      .toSorted((a, b) => (side === BUY ? b - a : a - b))
      .map((price) => {
        const at = resting.filter((order) => order.side === side && Number(order.price) === price);
        const volume = at.reduce((sum, order) => sum + trueRemaining(order), 0n);
        return { price: String(price), volume, numberOfOrders: BigInt(at.length) };
      });
  };
  return { buy: levels(BUY), sell: levels(SELL) };
}

function isCrossed(exchange: Exchange): boolean {
  const { buy, sell } = exchange.engine.depth(marketId, 1);
  return buy[0] !== undefined && sell[0] !== undefined && Number(buy[0].price) >= Number(sell[0].price);
}

const over = { numRuns: runs(150) };

describe("whatever is sent", () => {
  test("a book that trades is never crossed, and every book is what its orders tell", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const { exchange, act } = openBoth();
        for (const each of actions) {
          act(each);
          expect(isCrossed(exchange)).toBe(false);
        }
        for (const id of [marketId, auction]) {
          expect(exchange.engine.depth(id)).toMatchObject(bookByOrders(exchange, id));
        }
      }),
      over,
    );
  });

  test("what was filled of an order is what it traded, and no order is told of after its end", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const { exchange, act } = openBoth();
        actions.forEach(act);
        exchange.endBlock();
        const traded = new Map<string, bigint>();
        for (const { buyOrder, sellOrder, size } of valuesOf(exchange.events, "trade")) {
          traded.set(buyOrder, (traded.get(buyOrder) ?? 0n) + size);
          traded.set(sellOrder, (traded.get(sellOrder) ?? 0n) + size);
        }
        const open = [Order_Status.ACTIVE, Order_Status.PARKED];
        const seen = new Map<string, { readonly status: Order_Status; readonly version: bigint }>();
        for (const order of ordersOf(exchange.events)) {
          const before = seen.get(order.id);
          expect(before === undefined || open.includes(before.status)).toBe(true);
          expect(order.version).toBeGreaterThanOrEqual(before?.version ?? 1n);
          seen.set(order.id, order);
        }
        for (const id of seen.keys()) {
          const order = orderOf(exchange, id);
          expect(order && order.size - trueRemaining(order)).toBe(traded.get(id) ?? 0n);
          expect(order?.status === Order_Status.FILLED).toBe(order && trueRemaining(order) === 0n);
        }
        const ids = valuesOf(exchange.events, "trade").map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      over,
    );
  });

  test("what parties hold adds up to nothing, and money neither comes nor goes", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const { exchange, act } = openBoth();
        for (const each of [...actions, { ...(actions[0] as Action), kind: "block" as const }]) {
          if (actions.length > 0) {
            act(each);
          }
          const positions = new Map(valuesOf(exchange.events, "position").map((each) => [each.partyId, each]));
          expect([...positions.values()].reduce((sum, { openVolume }) => sum + openVolume, 0n)).toBe(0n);
          const accounts = new Map(valuesOf(exchange.events, "account").map((account) => [account.id, account]));
          const balances = [...accounts.values()].map(({ balance }) => BigInt(balance));
          const owners = [...accounts.values()].filter(({ type }) => type === AccountType.GENERAL).length;
          expect(balances.reduce((sum, balance) => sum + balance, 0n)).toBe(40n * BigInt(owners));
          expect(balances.every((balance) => balance >= 0n)).toBe(true);
        }
      }),
      over,
    );
  });

  test("the data of a market and its book agree", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const { exchange, act } = openBoth();
        actions.forEach(act);
        for (const data of valuesOf(exchange.endBlock(), "marketData")) {
          const { buy, sell } = exchange.engine.depth(data.market);
          expect([data.bestBidPrice, data.bestBidVolume]).toEqual([buy[0]?.price ?? "0", buy[0]?.volume ?? 0n]);
          expect([data.bestOfferPrice, data.bestOfferVolume]).toEqual([sell[0]?.price ?? "0", sell[0]?.volume ?? 0n]);
        }
      }),
      over,
    );
  });

  test("the same commands after what was kept was restored bring the same events", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), fc.array(action, { maxLength: 60 }), (before, after) => {
        const run = (detour: boolean): readonly Event[] => {
          const { exchange, act } = openBoth();
          before.forEach(act);
          const saved = exchange.engine.save();
          if (detour) {
            const other = openBoth();
            other.exchange.engine.restore(saved);
            after.forEach(other.act);
            other.exchange.endBlock();
            exchange.engine.restore(saved);
          }
          const from = exchange.events.length;
          after.forEach(act);
          exchange.endBlock();
          return exchange.events.slice(from);
        };
        expect(run(true)).toEqual(run(false));
      }),
      over,
    );
  });
});

interface Resting {
  readonly id: string;
  readonly party: string;
  readonly side: Side;
  readonly price: number;
  left: number;
}

/** Price-time priority as simply as it can be put: a list in the order of time, searched from its beginning. */
function createModel() {
  const book: Resting[] = [];
  return {
    book,
    submit({ party, side, price, size, timeInForce }: Action, id: string): string[] {
      const trades: [Resting, number][] = [];
      let left = size;
      let isStopped = timeInForce === IOC || timeInForce === FOK;
      const sign = side === BUY ? 1 : -1;
      const others = book
        .filter((order) => order.side !== side && sign * (price - order.price) >= 0)
        .toSorted((a, b) => sign * (a.price - b.price));
      for (const order of others) {
        if (left > 0 && order.party === party) {
          isStopped = true;
          break;
        }
        const traded = Math.min(left, order.left);
        left -= traded;
        trades.push([order, traded]);
      }
      if (timeInForce === FOK && left > 0) {
        return [];
      }
      for (const [order, traded] of trades) {
        order.left -= traded;
      }
      if (left > 0 && !isStopped) {
        book.push({ id, party, side, price, left });
      }
      this.tidy();
      return trades.filter(([, traded]) => traded > 0).map(([order, traded]) => `${traded}@${order.price} ${order.id}`);
    },
    cancel(party: string, id: string): void {
      const index = book.findIndex((order) => order.id === id && order.party === party);
      book.splice(index, index < 0 ? 0 : 1);
    },
    tidy(): void {
      book.splice(0, book.length, ...book.filter(({ left }) => left > 0));
    },
  };
}

test("orders trade by price and time as in the simplest model", () => {
  const kinds = { kind: fc.constantFrom("order", "order", "order", "cancel") };
  const plain = fc.tuple(action, fc.record(kinds)).map(([each, { kind }]) => ({ ...each, kind }));
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 120 }), (actions) => {
      const exchange = openExchange();
      const model = createModel();
      const ids: string[] = [];
      for (const each of actions) {
        if (each.kind === "cancel") {
          const orderId = ids[each.pick % ids.length] ?? "00".repeat(32);
          exchange.cancel(each.party, { marketId, orderId });
          model.cancel(each.party, orderId);
          continue;
        }
        const timeInForce = each.timeInForce === GTT ? GTC : each.timeInForce;
        const sent = exchange.order(each.party, limit(each.side, each.size, each.price, { timeInForce }));
        const id = sent.ids[0] ?? "";
        ids.push(id);
        const trades = valuesOf(sent.events, "trade").map(
          ({ size, price, buyOrder, sellOrder }) => `${size}@${price} ${each.side === BUY ? sellOrder : buyOrder}`,
        );
        expect(trades).toEqual(model.submit({ ...each, timeInForce }, id));
      }
      const latest = new Map(ordersOf(exchange.events).map((order) => [order.id, order]));
      const resting = [...latest.values()].filter(({ status }) => status === Order_Status.ACTIVE);
      const left = (orders: readonly { id: string }[], of: (id: string) => bigint) =>
        orders.map(({ id }) => `${id} ${of(id)}`).toSorted();
      expect(left(resting, (id) => latest.get(id)?.remaining ?? 0n)).toEqual(
        left(model.book, (id) => BigInt(model.book.find((order) => order.id === id)?.left ?? 0)),
      );
    }),
    over,
  );
});
