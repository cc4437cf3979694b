import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { tableNames } from "tradewire";
import { Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import {
  AccountType,
  Order_Status,
  Side,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "tradewire/gen/vega/vega_pb.js";
import { generateHistory, makerId, type Timeline, type TimelinePlace } from "./inside.js";

const idOf = (text: string) => createHash("sha256").update(text).digest("hex");
const START = 1_697_702_400_000_000_000n;

const madeUp = generateHistory({ blocks: 5000n });
const { finalState: start } = madeUp;
/** The number of accounts that rows name, and of the network's accounts that none names: 5 a market and 7 an asset in all. */
const TOLD = 311;
const UNTOLD = 82;

function read<T>(timeline: Timeline<T>, newestFirst: boolean, most: number, beyond?: TimelinePlace) {
  const found = [];
  for (const record of timeline.read(newestFirst, beyond)) {
    if (found.push(record) === most) {
      break;
    }
  }
  return found;
}

describe("a made-up history", () => {
  it("has blocks whose hashes and times are always the same", () => {
    expect(madeUp.lastHeight).toBe(5000n);
    expect(madeUp.blockAt(1n)).toEqual({ height: 1n, hash: idOf("block:1"), time: START + 1_007_919_000n });
    expect(madeUp.blockAt(4999n)).toEqual({
      height: 4999n,
      hash: idOf("block:4999"),
      time: START + 4_999_000_000_000n + ((4999n * 7919n) % 1_000_000n) * 1000n,
    });
    expect(() => madeUp.blockAt(0n)).toThrow(RangeError);
    expect(() => madeUp.blockAt(5001n)).toThrow("the history has no block 5001: its last one is 5000");
  });

  it.each(tableNames)("brings %s in every block, the same each time, and none behind its end", (table) => {
    const happenings = madeUp.events(table, 77n);
    expect(happenings.length).toBeGreaterThan(0);
    expect(generateHistory({ blocks: 5000 }).events(table, 77n)).toEqual(happenings);
    expect(madeUp.events(table, 78n)).not.toEqual(happenings);
    for (const { block } of happenings) {
      expect(block).toEqual(madeUp.blockAt(77n));
    }
    expect(madeUp.events(table, 0n)).toEqual([]);
    expect(madeUp.events(table, 5001n)).toEqual([]);
  });

  it("gives each event of a block a place of its own", () => {
    const sequences = tableNames.flatMap((table) => madeUp.events(table, 5000n)).map(({ sequence }) => sequence);
    expect(sequences.toSorted((a, b) => a - b)).toEqual(sequences.map((_, index) => index + 1));
  });

  it("tells with its last block which orders rest on the books", () => {
    const values = (height: bigint) => madeUp.events("orders", height).map(({ event }) => event.value);
    expect(values(5000n)).toHaveLength(63);
    expect(values(5000n).slice(3)).toEqual(start.orders);
    expect(values(4999n)).toHaveLength(3);
  });
});

// `getLatestMarketData, base` in test/network/recorded/listings.json.
it("has active bounds of price monitoring, as the network's markets have", () => {
  const bounds = start.marketData.flatMap(({ priceMonitoringBounds }) => priceMonitoringBounds);
  expect(bounds).not.toHaveLength(0);
  expect(bounds.every(({ active }) => active)).toBe(true);
});

describe("the timelines", () => {
  it("read from either end, and go on behind a place", () => {
    const places = (newestFirst: boolean, beyond?: TimelinePlace) =>
      read(madeUp.orders, newestFirst, 4, beyond).map(({ place: { height, index } }) => [height, index]);
    expect(places(true)).toEqual([
      [5000n, 2],
      [5000n, 1],
      [5000n, 0],
      [4999n, 2],
    ]);
    expect(places(false)).toEqual([
      [1n, 0],
      [1n, 1],
      [1n, 2],
      [2n, 0],
    ]);
    expect(places(true, { height: 2n, index: 1 })).toEqual([
      [2n, 0],
      [1n, 2],
      [1n, 1],
      [1n, 0],
    ]);
    expect(places(false, { height: 5000n, index: 0 })).toEqual([
      [5000n, 1],
      [5000n, 2],
    ]);
    expect(places(true, { height: 1n, index: 0 })).toEqual([]);
    expect(places(true, { height: 6000n, index: 0 })[0]).toEqual([5000n, 2]);
  });

  it("find what they give, and nothing else", () => {
    for (const timeline of [madeUp.orders, madeUp.trades]) {
      for (const { value } of read<{ id: string }>(timeline, true, 50)) {
        expect(timeline.find(value.id)).toEqual(value);
        const other = value.id.startsWith("f") ? "e" : "f";
        expect(timeline.find(`${other}${value.id.slice(1)}`)).toBeUndefined();
      }
    }
    const beyond = read(generateHistory({ blocks: 5001n }).orders, true, 1)[0]?.value.id ?? "";
    expect(madeUp.orders.find(beyond)).toBeUndefined();
    expect(madeUp.orders.find(read(madeUp.trades, true, 1)[0]?.value.id ?? "")).toBeUndefined();
    expect(madeUp.marketDataHistory.find(idOf("market:0"))).toBeUndefined();
  });

  it("know of the last 100 000 blocks of a longer history, which costs nothing", () => {
    const long = generateHistory({ blocks: 300_000_000n });
    expect(read(long.trades, false, 1)[0]?.place).toEqual({ height: 299_900_001n, index: 0 });
    expect(read(long.trades, false, 1, { height: 5n, index: 0 })[0]?.place.height).toBe(299_900_001n);
    expect(read(long.marketDataHistory, true, Number.POSITIVE_INFINITY)).toHaveLength(100_000);
    expect(read(long.trades, true, Number.POSITIVE_INFINITY, { height: 5n, index: 0 })).toEqual([]);
    const [first] = read(madeUp.orders, false, 1);
    expect(long.orders.find(first?.value.id ?? "")).toEqual(first?.value);
  });

  it("have orders that are all finished, and trades that filled them", () => {
    const statuses = new Map<Order_Status, number>();
    for (const { value } of madeUp.orders.read(true)) {
      statuses.set(value.status, (statuses.get(value.status) ?? 0) + 1);
    }
    expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([
      Order_Status.EXPIRED,
      Order_Status.CANCELLED,
      Order_Status.STOPPED,
      Order_Status.FILLED,
      Order_Status.REJECTED,
      Order_Status.PARTIALLY_FILLED,
    ]);
    const filled = new Map<string, bigint>();
    for (const { value: trade } of read(madeUp.trades, true, 400)) {
      const [buy, sell] = [madeUp.orders.find(trade.buyOrder), madeUp.orders.find(trade.sellOrder)];
      expect([buy?.partyId, sell?.partyId, buy?.marketId]).toEqual([trade.buyer, trade.seller, trade.marketId]);
      expect([buy?.side, sell?.side]).toEqual([Side.BUY, Side.SELL]);
      expect(BigInt(buy?.price ?? 0)).toBeGreaterThanOrEqual(BigInt(trade.price));
      expect(BigInt(sell?.price ?? 0)).toBeLessThanOrEqual(BigInt(trade.price));
      for (const order of [trade.buyOrder, trade.sellOrder]) {
        filled.set(order, (filled.get(order) ?? 0n) + trade.size);
      }
    }
    for (const [id, size] of filled) {
      const order = madeUp.orders.find(id);
      expect((order?.size ?? 0n) - (order?.remaining ?? 0n)).toBe(size);
    }
  });
});

describe("how things stand at the end", () => {
  it("names markets, parties and assets as ever", () => {
    expect(start.markets.map(({ id }) => id)).toEqual(Array.from({ length: 12 }, (_, n) => idOf(`market:${n}`)));
    expect(start.parties.map(({ id }) => id)).toEqual(Array.from({ length: 97 }, (_, n) => idOf(`party:${n}`)));
    expect(start.assets.slice(0, 5).map(({ id }) => id)).toEqual(
      Array.from({ length: 5 }, (_, n) => idOf(`asset:${n}`)),
    );
    expect(start.assets[5]?.id).toBe(start.parameters.get("reward.asset"));
    expect(start.stopOrders).toHaveLength(10_000);
    expect(start.stopOrders[7]?.stopOrder?.id).toBe(idOf("stop_order:7"));
    expect(
      generateHistory({ blocks: 9, blocksPerSegment: 3 }).finalState.parameters.get("snapshot.interval.length"),
    ).toBe("3");
  });

  it("names accounts by what they are", () => {
    expect(start.accounts).toHaveLength(TOLD + UNTOLD);
    expect(new Set(start.accounts.map(({ id }) => id)).size).toBe(TOLD + UNTOLD);
    const [general] = start.accounts;
    expect(general).toMatchObject({ owner: idOf("party:0"), asset: idOf("asset:0"), type: AccountType.GENERAL });
    expect(general?.id).toBe(idOf(`${idOf("asset:0")}${idOf("party:0")}ACCOUNT_TYPE_GENERAL`));
    const pool = start.accounts.find(({ type }) => type === AccountType.INSURANCE);
    expect(pool?.id).toBe(idOf(`${idOf("asset:0")}network${idOf("market:0")}ACCOUNT_TYPE_INSURANCE`));
  });

  it("has accounts of every asset for further keys, which are parties too", () => {
    const keys = [idOf("mine"), idOf("yours")];
    const { accounts, parties } = generateHistory({ blocks: 5, keys, startingBalance: "77" }).finalState;
    expect(parties.slice(97).map(({ id }) => id)).toEqual(keys);
    expect(accounts.slice(TOLD + UNTOLD).map(({ owner, asset, balance }) => [owner, asset, balance])).toEqual(
      keys.flatMap((key) => Array.from({ length: 5 }, (_, n) => [key, idOf(`asset:${n}`), "77"])),
    );
    expect(accounts[TOLD + UNTOLD]?.id).toBe(idOf(`${idOf("asset:0")}${keys[0]}ACCOUNT_TYPE_GENERAL`));
  });

  it("has the balances and positions that the history told last", () => {
    const balances = new Map<string, string>();
    const positions = new Map<string, unknown>();
    for (let height = 1n; height <= 5000n; height += 1n) {
      for (const { event } of madeUp.events("balances", height)) {
        if (event.case === "account") {
          balances.set(event.value.id, event.value.balance);
        }
      }
      for (const { event } of madeUp.events("positions", height)) {
        if (event.case === "position") {
          positions.set(`${event.value.partyId} ${event.value.marketId}`, event.value);
        }
      }
    }
    expect(new Map(start.accounts.map(({ id, balance }) => [id, balance]))).toEqual(balances);
    expect(new Map(start.positions.map((value) => [`${value.partyId} ${value.marketId}`, value]))).toEqual(positions);
  });

  it.each([1n, 7n, 5000n])("is consistent after %d blocks", (blocks) => {
    const { finalState: short, trades } = generateHistory({ blocks });
    const sums = new Map<string, bigint>();
    for (const { marketId, openVolume } of short.positions) {
      sums.set(marketId, (sums.get(marketId) ?? 0n) + openVolume);
    }
    expect([...sums.values()]).toEqual(Array(12).fill(0n));
    expect(short.positions).toHaveLength(12 * 97);
    for (const data of short.marketData) {
      const long = short.positions.filter(({ marketId, openVolume }) => marketId === data.market && openVolume > 0n);
      expect(data.openInterest).toBe(long.reduce((sum, { openVolume }) => sum + openVolume, 0n));
      expect(short.lastPrices.get(data.market)).toBe(data.lastTradedPrice);
    }
    const [last] = read(trades, true, 1);
    expect(short.lastPrices.get(last?.value.marketId ?? "")).toBe(last?.value.price);
  });

  it("has ten levels on each side of the books of markets that trade continuously, as their data says", () => {
    const trading = start.markets.filter(({ tradingMode }) => tradingMode === Market_TradingMode.CONTINUOUS);
    expect(trading).toHaveLength(3);
    expect(start.orders).toHaveLength(60);
    for (const data of start.marketData) {
      const [bids, offers] = [Side.BUY, Side.SELL].map((side) =>
        start.orders.filter((order) => order.marketId === data.market && order.side === side),
      );
      const count = trading.some(({ id }) => id === data.market) ? 10 : 0;
      expect([bids?.length, offers?.length]).toEqual([count, count]);
      expect([data.bestBidPrice, data.bestBidVolume]).toEqual([bids?.[0]?.price ?? "0", bids?.[0]?.remaining ?? 0n]);
      expect([data.bestOfferPrice, data.bestOfferVolume]).toEqual([
        offers?.[0]?.price ?? "0",
        offers?.[0]?.remaining ?? 0n,
      ]);
      const prices = [...(bids ?? []).toReversed(), ...(offers ?? [])].map(({ price }) => Number(price));
      expect(prices).toEqual(prices.toSorted((a, b) => a - b));
      expect(new Set(prices).size).toBe(prices.length);
    }
    for (const { status, partyId, createdAt } of start.orders) {
      expect([status, partyId, createdAt]).toEqual([Order_Status.ACTIVE, makerId, madeUp.blockAt(5000n).time]);
    }
    expect(start.positions.filter(({ partyId, openVolume }) => partyId === makerId && openVolume !== 0n)).toEqual([]);
  });

  it("has stop orders of all kinds that came with the history, of which the pending ones wait", () => {
    const end = madeUp.blockAt(5000n).time;
    const statuses = new Set<StopOrder_Status>();
    for (const { stopOrder } of start.stopOrders) {
      const { status = 0, createdAt = 0n, updatedAt = 0n, expiresAt, marketId = "" } = stopOrder ?? {};
      statuses.add(status);
      expect(createdAt <= end && updatedAt <= end && createdAt >= madeUp.blockAt(1n).time).toBe(true);
      expect(status === StopOrder_Status.PENDING || updatedAt <= (expiresAt ?? end)).toBe(true);
      if (status === StopOrder_Status.PENDING) {
        expect(expiresAt === undefined || expiresAt > end).toBe(true);
        const distance = Number(stopOrder?.trigger.value) - Number(start.lastPrices.get(marketId));
        const rises = stopOrder?.triggerDirection === StopOrder_TriggerDirection.RISES_ABOVE;
        expect(stopOrder?.trigger.case !== "price" || (rises ? distance > 0 : distance < 0)).toBe(true);
      }
    }
    expect([...statuses].toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
    const times = start.stopOrders.map(({ stopOrder }) => stopOrder?.createdAt ?? 0n);
    expect(times).toEqual(times.toSorted((a, b) => Number(a - b)));
    const pending = start.stopOrders.filter(({ stopOrder }) => stopOrder?.status === StopOrder_Status.PENDING);
    expect(start.pendingStopOrders).toEqual(pending);
  });
});
