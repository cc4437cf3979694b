import { type Order, Side } from "../../../gen/vega/vega_pb.js";
import { levelsOf, openSize, opposite, ordersAt } from "./book.js";
import { smaller } from "./decimal.js";
import type { Level, MarketState } from "./state.js";

/** A part of an order on the book that an order which comes in trades with. */
export interface Fill {
  readonly maker: Order;
  readonly price: bigint;
  readonly size: bigint;
}

/** What an order that comes in trades with. */
export interface Fills {
  readonly fills: readonly Fill[];
  /** What finds nothing to trade with. */
  readonly left: bigint;
  /** Whether the order met one of its own party, and went no further. */
  readonly metItself: boolean;
}

/** An order that comes in. */
export interface Taker {
  readonly partyId: string;
  readonly side: Side;
  /** The worst price that it accepts; `undefined` for any. */
  readonly limit: bigint | undefined;
  readonly size: bigint;
}

/**
 * Find what an order trades with: the best price first, and what came first at a price. Where what icebergs show at a
 * price does not suffice, what they hide is shared among them by size, and each one goes to the back afterwards. The
 * book stays as it is.
 *
 * @param market the market
 * @param taker the order that comes in
 * @returns its fills, at most one with each order
 */
export function findFills(market: MarketState, { partyId, side, limit, size }: Taker): Fills {
  const fills: Fill[] = [];
  let left = size;
  let metItself = false;
  for (const level of levelsOf(market, opposite(side))) {
    if (left === 0n || metItself || !accepts(side, limit, level.price)) {
      break;
    }
    const taken = fillsAt(market, level, partyId, left);
    fills.push(...taken.fills);
    ({ left, metItself } = taken);
  }
  return { fills, left, metItself };
}

function accepts(side: Side, limit: bigint | undefined, price: bigint): boolean {
  return limit === undefined || (side === Side.BUY ? price <= limit : price >= limit);
}

function fillsAt(market: MarketState, level: Level, partyId: string, wanted: bigint): Fills {
  const { price } = level;
  const fills: Fill[] = [];
  let left = wanted;
  for (const maker of ordersAt(market, level)) {
    if (left === 0n) {
      break;
    }
    if (maker.partyId === partyId) {
      return { fills, left, metItself: true };
    }
    const size = smaller(maker.remaining, left);
    fills.push({ maker, price, size });
    left -= size;
  }
  return left === 0n ? { fills, left, metItself: false } : takeHidden(fills, left);
}

/** Take from what icebergs hide, after all that is shown at a price. */
function takeHidden(shown: readonly Fill[], wanted: bigint): Fills {
  const hidden = shown.map(({ maker }) => openSize(maker) - maker.remaining);
  const total = hidden.reduce((sum, size) => sum + size, 0n);
  const taken = smaller(wanted, total);
  const shares = hidden.map((size) => (total === 0n ? 0n : (size * taken) / total));
  let rest = shares.reduce((sum, share) => sum - share, taken);
  const fills = shown.map((fill, index) => {
    const share = shares[index] ?? 0n;
    const more = smaller(rest, (hidden[index] ?? 0n) - share); // What rounding left goes to who came first.
    rest -= more;
    return { ...fill, size: fill.size + share + more };
  });
  return { fills, left: wanted - taken, metItself: false };
}
