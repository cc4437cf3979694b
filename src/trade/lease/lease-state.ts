import { type Order, Order_TimeInForce, Side } from "../../../gen/vega/vega_pb.js";
import type { AccountView } from "../market/account-state.js";
import { type ChainClock, createChainClock } from "./chain-clock.js";
import type { LeaseSettings } from "./lease-options.js";

/** An order that is kept alive by renewals. */
export interface LeasedOrder {
  readonly id: string;
  readonly marketId: string;
  readonly side: Side;
  /** The latest expiry that was sent, in Unix nanoseconds: the order ends in the first block at or after it. */
  readonly expiresAt: bigint;
}

/** A stop order that closes a position when renewals stop. */
export interface LeasedStop {
  readonly id: string;
  readonly marketId: string;
  /** The side of the order that it submits. */
  readonly side: Side;
  /** When the network submits its order, in Unix nanoseconds. */
  readonly expiresAt: bigint;
  /**
   * - `sent`: a block may still contain it.
   * - `placed`: the network has accepted it.
   * - `void`: the network has reported it as canceled, so its expiry has no effect. It may still be in the network's pool.
   */
  readonly status: "sent" | "placed" | "void";
}

/** The price at which a stop order submits its order before it expires. */
export type LeaseTrigger = { readonly fallsBelow: string } | { readonly risesAbove: string };

/** The leases of a key: its orders and stop orders, and its account. */
export interface LeaseState {
  readonly orders: Map<string, LeasedOrder>;
  /**
   * All stop orders that may be pending. A stop order that faces away from the position is reported as canceled and stays in
   * the network's pool (v0.78.0, `CheckDirection` in core/execution/stoporders/stop_orders.go deletes by `OrderID`, which is
   * empty), so one is removed only when its own cancellation was executed, or its expiry has passed.
   */
  readonly stops: Map<string, LeasedStop>;
  /** By market: the triggers of stop orders. Those without one are not triggered by any price. */
  readonly triggers: Map<string, LeaseTrigger>;
  /** By market: the reason why the network refused the latest stop order. */
  readonly refusals: Map<string, string>;
  /** The markets that were in an auction at the last reading. */
  readonly auctions: Set<string>;
  /** The account at the last reading; `undefined` before the first one. */
  view: AccountView | undefined;
  /** The time of the chain. */
  readonly clock: ChainClock;
  /** Whether the last renewals took longer than the time between two. */
  isBehind: boolean;
}

/** Creates a state without leases. */
export function createLeaseState(): LeaseState {
  return {
    orders: new Map(),
    stops: new Map(),
    triggers: new Map(),
    refusals: new Map(),
    auctions: new Set(),
    view: undefined,
    clock: createChainClock(),
    isBehind: false,
  };
}

/** Returns the open volume of a market; negative if it is short, 0 if unknown. */
export function volumeOf({ view }: LeaseState, marketId: string): bigint {
  return view?.positions.find((position) => position.marketId === marketId)?.openVolume ?? 0n;
}

/** Returns the side that closes a position; `undefined` if there is none. */
export function closingSide(volume: bigint): Side | undefined {
  return volume === 0n ? undefined : volume > 0n ? Side.SELL : Side.BUY;
}

/**
 * Returns the sides for which a market needs stop orders. Without a position, they are the sides that close positions which its
 * orders may open, so that a position is covered from the block that opens it.
 */
export function neededSides(state: LeaseState, marketId: string, nextSide?: Side): readonly Side[] {
  const closing = closingSide(volumeOf(state, marketId));
  if (closing !== undefined) {
    return [closing];
  }
  const own = [...state.orders.values()].filter((order) => order.marketId === marketId).map(({ side }) => side);
  const opening = nextSide === undefined ? own : [...own, nextSide];
  return [Side.SELL, Side.BUY].filter((side) => opening.some((each) => each !== side));
}

/** Returns the markets with leases, or with positions that need one. */
export function marketsOf(state: LeaseState, { flattenAfterMs, marketIds }: LeaseSettings): readonly string[] {
  const held = (state.view?.positions ?? [])
    .filter(({ openVolume, marketId }) => openVolume !== 0n && (marketIds?.has(marketId) ?? true))
    .map(({ marketId }) => marketId);
  const leased = [...state.orders.values(), ...state.stops.values()].map(({ marketId }) => marketId);
  return [...new Set([...leased, ...(flattenAfterMs.length > 0 ? held : [])])];
}

/** Returns the live orders of a view that can be leased: those that expire, on a market in scope. */
export function adoptable({ orders }: AccountView, { marketIds }: LeaseSettings): readonly Order[] {
  return orders.filter(
    ({ timeInForce, marketId }) => timeInForce === Order_TimeInForce.GTT && (marketIds?.has(marketId) ?? true),
  );
}
