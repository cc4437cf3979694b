import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { Market_State } from "tradewire/gen/vega/markets_pb.js";
import { NetworkParameterSchema, PartySchema, type Trade } from "tradewire/gen/vega/vega_pb.js";
import { createWorld } from "../../../src/node/world/world.js";
import {
  account,
  asset,
  blockAt,
  happeningsOf,
  id,
  market,
  marketData,
  position,
  stopOrder,
  timelineOf,
  trade,
} from "../living-world.js";
import { type Event, MAX_RECORDS } from "./inside.js";
import { ACTIVE, brief, FILLED, happen, history, orderEvent } from "./small-world.js";

describe("the orders of a world", () => {
  test("come behind those of the history, those that rested at its end first", () => {
    const { world } = createWorld(history());
    const expected = ["9-0 900 5", "9-1 901 5", "10-0 902 5", "10-1 903 5", "10-2 1 1", "10-3 2 1"];
    expect(Array.from(world.orders.read(false), brief)).toEqual(expected);
    expect(Array.from(world.orders.read(true), brief)).toEqual(expected.toReversed());
    expect(Array.from(world.liveOrders.read(false), brief)).toEqual(expected.slice(-2));
    expect(world.totals).toEqual({ orders: 22n, trades: 20n });
  });

  test("keep the place of their first version, and have the latest one", () => {
    const living = createWorld(history());
    const { world } = living;
    happen(living, [orderEvent(11, ACTIVE), orderEvent(12, ACTIVE), orderEvent(11, FILLED), orderEvent(13, ACTIVE)]);
    happen(living, [orderEvent(1, FILLED), orderEvent(14, ACTIVE), orderEvent(13, FILLED)]);
    expect(Array.from(world.orders.read(false, { height: 10n, index: 1 }), brief)).toEqual([
      "10-2 1 5",
      "10-3 2 1",
      "11-0 11 5",
      "11-1 12 1",
      "11-2 13 5",
      "12-0 14 1",
    ]);
    expect(Array.from(world.liveOrders.read(true), brief)).toEqual(["12-0 14 1", "11-1 12 1", "10-3 2 1"]);
    expect([world.orders.find(id(1))?.status, world.orders.find(id(11))?.status]).toEqual([FILLED, FILLED]);
    expect(world.orders.find(id(901))?.status).toBe(FILLED);
    expect(world.orders.find(id(77))).toBeUndefined();
    expect(world.totals.orders).toBe(26n);
  });

  test("are kept while they can trade, and the oldest finished ones are dropped", () => {
    const living = createWorld(history());
    happen(living, [orderEvent(20_000_000, ACTIVE)]);
    const events = Array.from({ length: MAX_RECORDS + 1 }, (_, number) => orderEvent(10_000_000 + number, FILLED));
    happen(living, events);
    const { orders } = living.world;
    const live = Array.from(orders.read(false, { height: 10n, index: 3 }), brief);
    expect(live.length).toBeLessThanOrEqual(MAX_RECORDS + 1);
    expect(live.length).toBeGreaterThan(0.9 * MAX_RECORDS);
    expect(live[0]).toBe("11-0 20000000 1");
    expect(live.at(-1)).toBe(`12-${MAX_RECORDS} ${10_000_000 + MAX_RECORDS} 5`);
    expect(orders.find(id(10_000_000))).toBeUndefined();
    expect(living.world.totals.orders).toBe(22n + BigInt(MAX_RECORDS + 2));
  });
});

test("every event changes what it is about, and what was read before stays as it was", () => {
  const living = createWorld(history());
  const { world } = living;
  const before = new Map(world.accounts);
  living.save();
  const { accounts } = world;
  const events: Event[] = [
    { case: "account", value: account(1, { balance: "7" }) },
    { case: "account", value: account(9) },
    { case: "position", value: position(id(2), id(1), 5n), entryPriceInAsset: "0" },
    { case: "party", value: create(PartySchema, { id: id(2) }) },
    { case: "party", value: create(PartySchema, { id: id(3) }) },
    { case: "stopOrder", value: stopOrder(1, { status: 4 }) },
    { case: "stopOrder", value: stopOrder(2, { status: 1 }) },
    { case: "marketData", value: marketData(1, { markPrice: "3" }) },
    { case: "marketUpdated", value: market(1, { state: Market_State.SUSPENDED }) },
    { case: "marketCreated", value: market(2) },
    { case: "asset", value: asset(6) },
    { case: "networkParameter", value: create(NetworkParameterSchema, { key: "a", value: "2" }) },
    { case: "trade", value: trade(5) },
  ];
  happen(living, events);
  expect(accounts).toEqual(before);
  expect(world.block).toEqual(blockAt(11n));
  expect([world.blockAt(0n), world.blockAt(10n), world.blockAt(11n), world.blockAt(12n)]).toEqual([
    undefined,
    blockAt(10n),
    blockAt(11n),
    undefined,
  ]);
  expect([...world.accounts.values()].map(({ balance }) => balance)).toEqual(["7", "100"]);
  expect(world.positions.get(`${id(2)} ${id(1)}`)?.openVolume).toBe(5n);
  expect([...world.parties.values()]).toEqual([
    { id: id(2), createdAt: 7n },
    { id: id(3), createdAt: blockAt(11n).time },
  ]);
  expect([...world.stopOrders.values()].map(({ stopOrder: each }) => each?.status)).toEqual([4, 1]);
  expect(world.marketData.get(id(1))?.markPrice).toBe("3");
  expect(Array.from(world.marketDataHistory.read(true), ({ place }) => place.height)).toEqual([11n, 10n, 9n]);
  expect([...world.markets.values()].map(({ state }) => state)).toEqual([Market_State.SUSPENDED, 0]);
  expect([...world.assets.keys()]).toEqual([id(5), id(6)]);
  expect(world.parameters.get("a")).toBe("2");
  expect(Array.from(world.trades.read(false), brief).at(-1)).toBe("11-0 5");
  expect(world.trades.find(id(5))).toEqual(trade(5));
  expect(world.trades.find(id(803))).toEqual(trade(803));
});

test("a block begins with its first event where it was not begun", () => {
  const { world, apply } = createWorld(history());
  for (const happening of happeningsOf(
    11n,
    [5, 6].map((number) => ({ case: "trade", value: trade(number) })),
  )) {
    apply(happening);
  }
  expect(world.block.height).toBe(11n);
  expect(Array.from(world.trades.read(true), brief).slice(0, 3)).toEqual(["11-1 6", "11-0 5", "10-1 803"]);
});

test("the history is not read for what came after it", () => {
  const source = history();
  const trades = timelineOf<Trade>([[10, trade(1)]]);
  const living = createWorld({ ...source, trades });
  happen(living, [
    { case: "trade", value: trade(2) },
    { case: "trade", value: trade(3) },
  ]);
  const [newest] = living.world.trades.read(true);
  expect(newest?.value.id).toBe(id(3));
  expect(trades.reads()).toBe(0);
});
