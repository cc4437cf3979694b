import { CoreService } from "../../../gen/client/vega/api/v1/core_pb.js";
import { type Order, Order_TimeInForce, Side } from "../../../gen/vega/vega_pb.js";
import { ProtocolError } from "../../base/errors/index.js";
import { toConnectOptions } from "../../base/input/call-options.js";
import { type Moment, moment, passedMs } from "../../base/runtime/index.js";
import type { ObservedNode } from "../live/execution.js";
import type { AccountView } from "../market/account-state.js";
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
  /** The signed transactions that cancel it, unless it is certain that they do not. */
  readonly canceledBy: readonly CancelingBatch[];
}

/** A transaction that cancels stop orders, and the sides for which it submits others. */
interface CancelingBatch {
  readonly submittedStops: readonly { readonly side: Side }[];
}

/** The price at which a stop order submits its order before it expires. */
export type LeaseTrigger = { readonly fallsBelow: string } | { readonly risesAbove: string };

/** The leases of a key: its orders and stop orders, and its account. */
export interface LeaseState {
  readonly orders: Map<string, LeasedOrder>;
  /** The orders that are not signed yet: renewals must not cancel the stop orders that cover them. */
  readonly submitting: Set<Pick<LeasedOrder, "marketId" | "side">>;
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
    submitting: new Set(),
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
  const own = [...state.orders.values(), ...state.submitting]
    .filter((order) => order.marketId === marketId)
    .map(({ side }) => side);
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

/** Maximum difference of the chain's time from the expected time, in milliseconds: blocks may be late, and nodes may lag. */
const TOLERANCE_MS = 60_000;

/** Maximum number of requests for the first time of a chain. */
const MAX_READINGS = 5;

/**
 * The known time of the chain: the time of its latest block, in Unix nanoseconds.
 *
 * A single wrong response must not change it: leases would end early, or only after years. The first reading is
 * accepted once the next one confirms it. A later one is accepted if it is at most a minute before the latest one, or
 * after it by at most a minute plus twice the time that has passed on this machine.
 */
interface ChainClock {
  /** Returns the latest accepted time; `undefined` if there is none yet. */
  latest(): bigint | undefined;
  /** Adds the time of a block, and returns whether it is accepted. An older one changes nothing. */
  note(time: bigint): boolean;
  /**
   * Requests the time from a node, and adds it.
   *
   * @throws {@link ProtocolError} if the node's time is not accepted
   */
  read(node: ObservedNode, signal: AbortSignal): Promise<bigint>;
}

/** A time of the chain, and when it was read first. */
interface ClockReading {
  readonly time: bigint;
  readonly at: Moment;
}

/** Creates a clock without a time. */
function createChainClock(): ChainClock {
  let known: ClockReading | undefined;
  let unconfirmed: ClockReading | undefined;

  function note(time: bigint): boolean {
    const reference = known ?? unconfirmed;
    if (reference === undefined || !follows(time, reference)) {
      unconfirmed = known === undefined ? { time, at: moment() } : undefined;
      return false;
    }
    if (known === undefined || time > known.time) {
      known = { time, at: moment() };
    }
    return true;
  }

  return {
    latest: () => known?.time,
    note,
    async read({ service }, signal) {
      for (let readings = 1; ; readings += 1) {
        const { timestamp } = await service(CoreService).getVegaTime({}, toConnectOptions({ signal }));
        if (timestamp > 0n && note(timestamp) && known !== undefined) {
          return known.time;
        }
        if (known !== undefined || readings === MAX_READINGS) {
          throw wrongTime(timestamp, known?.time);
        }
      }
    },
  };
}

function follows(time: bigint, { time: before, at }: ClockReading): boolean {
  const aheadMs = Number(time - before) / 1e6;
  return aheadMs >= -TOLERANCE_MS && aheadMs <= TOLERANCE_MS + 2 * passedMs(at);
}

function wrongTime(time: bigint, known: bigint | undefined): ProtocolError {
  const compared = known === undefined ? "but no second response confirms it" : `but the previous one was ${known}`;
  return new ProtocolError(`the node reports the chain time ${time}, ${compared}`, {
    advice: "Use another node, and report this to the operator of the node.",
  });
}
