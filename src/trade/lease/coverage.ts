import type { Order_TimeInForce, Side } from "../../../gen/vega/vega_pb.js";
import type { LeaseSettings } from "./lease-options.js";
import { closingSide, type LeaseState, type LeaseTrigger, marketsOf, volumeOf } from "./lease-state.js";

/** The consequences for orders and positions if renewals stopped now. */
export interface LeaseCoverage {
  /**
   * - `starting`: the account of the key has not been loaded yet.
   * - `live`: it is up to date.
   * - `reloading`: the connection was lost, and changes of the account may be missing.
   */
  readonly state: "starting" | "live" | "reloading";
  /** The time of the latest known block, in Unix nanoseconds. All expiries are in this time. */
  readonly chainTime: bigint | undefined;
  /** Whether the last renewals took longer than `renewEveryMs`: there are too many orders to renew at that interval. */
  readonly isBehind: boolean;
  /** The markets on which the key has live orders or positions, or something is leased. */
  readonly markets: readonly MarketCoverage[];
}

/** The consequences on a market if renewals stopped now. */
export interface MarketCoverage {
  readonly marketId: string;
  /** The leased orders. Each one ends in the first block at or after its expiry, in Unix nanoseconds. */
  readonly orders: readonly { readonly id: string; readonly expiresAt: bigint }[];
  /** Live orders of the key that are not leased. They stay, or end at their expiry (Unix nanoseconds). */
  readonly otherOrders: readonly {
    readonly id: string;
    readonly timeInForce: Order_TimeInForce;
    readonly expiresAt: bigint | undefined;
  }[];
  /** The position of the key, in units of the market's last decimal; negative if it is short. */
  readonly openVolume: bigint;
  readonly position: PositionCoverage;
  /** The price at which the position is closed while renewals continue; `undefined` if there is none. */
  readonly trigger: LeaseTrigger | undefined;
  /** The stop orders that would close a position, including those for positions that the orders may open. */
  readonly stopOrders: readonly {
    readonly id: string;
    readonly side: Side;
    /** When its order is submitted, in Unix nanoseconds. */
    readonly expiresAt: bigint;
    /** Whether the network has confirmed that it accepted it. */
    readonly isPlaced: boolean;
  }[];
}

/** Whether the position of a market would be closed. */
export type PositionCoverage =
  | { readonly status: "none" }
  /** A stop order submits a market order of the whole position. How much of it trades depends on the book. */
  | { readonly status: "covered"; readonly stopOrderId: string; readonly expiresAt: bigint }
  | {
      readonly status: "uncovered";
      /**
       * - `off`: `flattenAfterMs` is not set, or the market is not among `marketIds`.
       * - `auction`: there is a stop order, but the market is in an auction, in which it would expire without its order.
       * - `refused`: the network refused the stop order.
       * - `pending`: the stop order is not confirmed yet.
       */
      readonly cause: "off" | "auction" | "refused" | "pending";
      readonly reason: string;
    };

/** Returns the consequences if renewals stopped now. */
export function coverageOf(state: LeaseState, settings: LeaseSettings): LeaseCoverage {
  const { view, clock, isBehind } = state;
  const others = [
    ...(view?.orders ?? []),
    ...(view?.positions ?? []).filter(({ openVolume }) => openVolume !== 0n),
  ].map(({ marketId }) => marketId);
  const markets = [...new Set([...marketsOf(state, settings), ...others])].sort();
  return {
    state: view?.state ?? "starting",
    chainTime: clock.latest(),
    isBehind,
    markets: markets.map((marketId) => marketCoverage(state, marketId, settings)),
  };
}

function marketCoverage(state: LeaseState, marketId: string, settings: LeaseSettings): MarketCoverage {
  const isHere = (each: { readonly marketId: string }) => each.marketId === marketId;
  const orders = [...state.orders.values()].filter(isHere);
  const others = (state.view?.orders ?? []).filter((order) => isHere(order) && !state.orders.has(order.id));
  return {
    marketId,
    orders: orders.map(({ id, expiresAt }) => ({ id, expiresAt })),
    otherOrders: others.map(({ id, timeInForce, expiresAt }) => ({
      id,
      timeInForce,
      expiresAt: expiresAt === 0n ? undefined : expiresAt,
    })),
    openVolume: volumeOf(state, marketId),
    position: positionCoverage(state, marketId, settings),
    trigger: state.triggers.get(marketId),
    stopOrders: [...state.stops.values()]
      .filter((stop) => isHere(stop) && stop.status !== "void")
      .map(({ id, side, expiresAt, status }) => ({ id, side, expiresAt, isPlaced: status === "placed" })),
  };
}

function positionCoverage(
  state: LeaseState,
  marketId: string,
  { flattenAfterMs, marketIds }: LeaseSettings,
): PositionCoverage {
  const closing = closingSide(volumeOf(state, marketId));
  if (closing === undefined) {
    return { status: "none" };
  }
  if (flattenAfterMs.length === 0) {
    return { status: "uncovered", cause: "off", reason: "flattenAfterMs is not set" };
  }
  if (marketIds?.has(marketId) === false) {
    return { status: "uncovered", cause: "off", reason: "the market is not among marketIds" };
  }
  const [first] = [...state.stops.values()]
    .filter((stop) => stop.marketId === marketId && stop.side === closing && stop.status === "placed")
    .sort((a, b) => Number(a.expiresAt - b.expiresAt));
  if (first === undefined) {
    const reason = state.refusals.get(marketId);
    return reason === undefined
      ? { status: "uncovered", cause: "pending", reason: "the stop order is not confirmed yet" }
      : { status: "uncovered", cause: "refused", reason };
  }
  return state.auctions.has(marketId)
    ? {
        status: "uncovered",
        cause: "auction",
        reason: "the market is in an auction, in which a stop order expires without its order",
      }
    : { status: "covered", stopOrderId: first.id, expiresAt: first.expiresAt };
}
