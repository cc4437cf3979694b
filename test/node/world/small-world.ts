// A world that lives, for tests of it.

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
} from "../living-world.js";
import type { Event, Placed, WorldHistory, WorldStore } from "./inside.js";

export const ACTIVE = 1;
export const FILLED = 5;

/** Two finished orders, trades and market data in each of the last blocks, and two orders that rest. */
export const history = (): WorldHistory =>
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

export function happen({ begin, apply, world }: WorldStore, events: readonly Event[]): void {
  const block = blockAt(world.block.height + 1n);
  begin(block);
  for (const happening of happeningsOf(block.height, events)) {
    apply(happening);
  }
}

export const brief = ({ place, value }: Placed<{ readonly id: string; readonly status?: number }>) =>
  `${place.height}-${place.index} ${Number.parseInt(value.id, 16)}${value.status === undefined ? "" : ` ${value.status}`}`;

export const orderEvent = (number: number, status: number): Event => ({
  case: "order",
  value: order(number, { status }),
});
