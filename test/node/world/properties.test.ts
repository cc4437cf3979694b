import { create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Order, PartySchema } from "tradewire/gen/vega/vega_pb.js";
import { runs } from "../../support/tier.js";
import { account, id, marketData, order, position, stopOrder, trade } from "../living-world.js";
import { createWorld, type Event, type Placed, type Timeline, type World } from "./inside.js";
import { ACTIVE, FILLED, happen, history, orderEvent } from "./small-world.js";

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
      return { case: "position", value: position(id(number % 2), id(1), BigInt(number)), entryPriceInAsset: "0" };
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
      const first = { state: living.save(), reads: reads(createWorld(history()).world) };
      const saved: [typeof first, ...(typeof first)[]] = [first];
      for (const each of steps) {
        if (each === "save") {
          saved.push({ state: living.save(), reads: reads(living.world) });
        } else if (typeof each === "number") {
          const { state, reads: kept } = saved[each % saved.length] ?? saved[0];
          living.restore(state);
          expect(reads(living.world)).toEqual(kept);
        } else {
          happen(living, each);
        }
      }
      for (const { state, reads: kept } of [...saved, ...saved]) {
        living.restore(state);
        expect(reads(living.world)).toEqual(kept);
      }
    }),
    { numRuns: runs(150) },
  );
});

test("timelines are what one would note by hand, from any place and in both directions", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()))),
      fc.nat(40),
      (blocks, from) => {
        const living = createWorld(history());
        const noted = [...history().orders.read(false), ...placedAt(2, history().finalState.orders)];
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
    { numRuns: runs(300) },
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
