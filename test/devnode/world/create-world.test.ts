import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Market_State } from "../../../gen/vega/markets_pb.js";
import { NetworkParameterSchema, type Order, PartySchema, type Trade } from "../../../gen/vega/vega_pb.js";
import { createWorld, type LivingWorld } from "../../../src/devnode/world/create-world.js";
import type { Event } from "../../../src/devnode/world/event.js";
import { MAX_RECORDS } from "../../../src/devnode/world/live-timeline.js";
import type { Placed, Timeline } from "../../../src/devnode/world/timeline.js";
import type { World } from "../../../src/devnode/world/world.js";
import {
  account,
  asset,
  blockAt,
  happeningsOf,
  historyOf,
  id,
  market,
  marketData,
  order,
  position,
  stopOrder,
  timelineOf,
  trade,
} from "../../support/living-world.js";

const ACTIVE = 1;
const FILLED = 5;

/** Two finished orders, trades and market data in each of the last blocks, and two orders that rest. */
const history = () =>
  historyOf({
    orders: timelineOf([9, 9, 10, 10].map((height, at) => [height, order(900 + at, { status: FILLED })] as const)),
    trades: timelineOf([9, 9, 10, 10].map((height, at) => [height, trade(800 + at)] as const)),
    marketDataHistory: timelineOf([9, 10].map((height) => [height, marketData(1, { openInterest: BigInt(height) })])),
    start: {
      orders: [order(1, { status: ACTIVE }), order(2, { status: ACTIVE })],
      accounts: [account(1)],
      positions: [position(id(2), id(1))],
      parties: [{ id: id(2), createdAt: 7n }],
      markets: [market(1)],
      marketData: [marketData(1)],
      assets: [asset(5)],
      stopOrders: [stopOrder(1, { status: 1 })],
      parameters: new Map([["a", "1"]]),
    },
  });

function happen({ begin, apply, world }: LivingWorld, events: readonly Event[]): void {
  const block = blockAt(world.block.height + 1n);
  begin(block);
  for (const happening of happeningsOf(block.height, events)) {
    apply(happening);
  }
}

const brief = ({ place, value }: Placed<{ readonly id: string; readonly status?: number }>) =>
  `${place.height}-${place.index} ${Number.parseInt(value.id, 16)}${value.status === undefined ? "" : ` ${value.status}`}`;

const orderEvent = (number: number, status: number): Event => ({ case: "order", value: order(number, { status }) });

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
  const before = { ...world, accounts: new Map(world.accounts) };
  living.save();
  const { accounts } = world;
  const events: Event[] = [
    { case: "account", value: account(1, { balance: "7" }) },
    { case: "account", value: account(9) },
    { case: "position", value: position(id(2), id(1), 5n) },
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
  expect(accounts).toEqual(before.accounts);
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

/** What changes a world: the events of a block, and saving and restoring. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.nat(9).chain((kind) => fc.nat(20).map((number) => eventOf(kind, number)))) },
  fc.constant("save" as const),
  fc.nat(3),
);

/** Orders 1 and 2 are of the start. The others are new, change, and finish. */
function eventOf(kind: number, number: number): Event {
  switch (kind) {
    case 0:
      return { case: "trade", value: trade(1000 + number) };
    case 1:
      return { case: "marketData", value: marketData(1, { openInterest: BigInt(number) }) };
    case 2:
      return { case: "account", value: account(number % 3, { balance: String(number) }) };
    case 3:
      return { case: "position", value: position(id(number % 2), id(1), BigInt(number)) };
    case 4:
      return { case: "stopOrder", value: stopOrder(number % 4, { status: 1 + (number % 6) }) };
    case 5:
      return { case: "party", value: create(PartySchema, { id: id(number) }) };
    default:
      return orderEvent(1 + (number % 7), kind % 2 === 0 ? ACTIVE : FILLED);
  }
}

const everything = (timeline: Timeline<object>) => [...timeline.read(false)];

/** All that can be read of a world. */
function reads(world: World): object {
  const { block, parameters, accounts, positions, parties, stopOrders, markets, marketData: data, totals } = world;
  return structuredClone({
    ...{ block, parameters, accounts, positions, parties, stopOrders, markets, data, totals },
    orders: everything(world.orders),
    liveOrders: everything(world.liveOrders),
    trades: everything(world.trades),
    marketDataHistory: everything(world.marketDataHistory),
    blocks: Array.from({ length: 30 }, (_, height) => world.blockAt(BigInt(height))),
    found: Array.from({ length: 9 }, (_, number) => world.orders.find(id(number))),
  });
}

test("what was saved comes back, whatever happened since, as often as it is restored", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const living = createWorld(history());
      const saved = [{ state: living.save(), reads: reads(createWorld(history()).world) }];
      for (const each of steps) {
        if (each === "save") {
          saved.push({ state: living.save(), reads: reads(living.world) });
        } else if (typeof each === "number") {
          const kept = saved[each % saved.length];
          living.restore(kept?.state ?? []);
          expect(reads(living.world)).toEqual(kept?.reads);
        } else {
          happen(living, each);
        }
      }
      for (const { state, reads: kept } of [...saved, ...saved]) {
        living.restore(state);
        expect(reads(living.world)).toEqual(kept);
      }
    }),
    { numRuns: 150 },
  );
});

test("timelines are what one would note by hand, from any place and in both directions", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()))),
      fc.nat(40),
      (blocks, from) => {
        const living = createWorld(history());
        const noted = [...history().orders.read(false), ...placedAt(2, history().start.orders)];
        for (const [at, changes] of blocks.entries()) {
          happen(
            living,
            changes.map(([number, isFilled]) => orderEvent(number, isFilled ? FILLED : ACTIVE)),
          );
          for (const [number, isFilled] of changes) {
            note(noted, BigInt(at) + 11n, order(number, { status: isFilled ? FILLED : ACTIVE }));
          }
        }
        const { orders } = living.world;
        expect([...orders.read(false)]).toEqual(noted);
        expect([...orders.read(true)]).toEqual(noted.toReversed());
        const at = from % noted.length;
        expect([...orders.read(false, noted[at]?.place)]).toEqual(noted.slice(at + 1));
        expect([...orders.read(true, noted[at]?.place)]).toEqual(noted.slice(0, at).toReversed());
        expect(noted.map(({ value }) => orders.find(value.id))).toEqual(noted.map(({ value }) => value));
      },
    ),
    { numRuns: 300 },
  );
});

const placedAt = (first: number, orders: readonly Order[]): Placed<Order>[] =>
  orders.map((value, index) => ({ place: { height: 10n, index: first + index }, value }));

/** Note an order at the place of its first version, or at the end. */
function note(noted: Placed<Order>[], height: bigint, value: Order): void {
  const at = noted.findIndex((other) => other.value.id === value.id);
  const before = noted[at];
  if (before === undefined) {
    const index = noted.filter(({ place }) => place.height === height).length;
    noted.push({ place: { height, index }, value });
  } else {
    noted[at] = { place: before.place, value };
  }
}

test("what was read once is not read again for a page of what is live", () => {
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
