import { create } from "@bufbuild/protobuf";
import {
  OrderSubmissionSchema,
  type StopOrderSetup,
  type StopOrdersCancellation,
  type StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  OrderError,
  type StopOrder,
  StopOrder_SizeOverrideValueSchema,
  StopOrder_Status,
  StopOrder_TriggerDirection,
  StopOrderSchema,
} from "../../../gen/vega/vega_pb.js";
import { STOP_ORDER_HALVES, type StopOrderIdentifiers } from "../../transaction/identifiers.js";
import { wholeMicroseconds } from "./decimal.js";
import { orderErrorText, TRADING_NOT_ALLOWED } from "./order-errors.js";
import { isOpen, type MarketState, type PendingStop, type Work } from "./state.js";

const DIRECTION = {
  fallsBelow: StopOrder_TriggerDirection.FALLS_BELOW,
  risesAbove: StopOrder_TriggerDirection.RISES_ABOVE,
} as const;

/** A stop order that was submitted, with its part of the submission. */
export interface SubmittedStop extends PendingStop {
  readonly setup: StopOrderSetup;
}

/**
 * Makes the stop orders of a submission, not yet checked.
 *
 * @param work the block
 * @param partyId who submits them
 * @param submission the submission, of one stop order or a pair
 * @param ids their identifiers
 * @returns the stop orders, pending, the one that falls below first
 */
export function submittedStops(
  { block }: Work,
  partyId: string,
  submission: StopOrdersSubmission,
  ids: StopOrderIdentifiers,
): readonly SubmittedStop[] {
  return STOP_ORDER_HALVES.flatMap((half) => {
    const setup = submission[half];
    if (setup === undefined) {
      return [];
    }
    const { orderSubmission, expiresAt, expiryStrategy, sizeOverrideSetting, sizeOverrideValue, trigger } = setup;
    const marketId = orderSubmission?.marketId.toLowerCase() ?? "";
    const linked = half === "fallsBelow" ? ids.risesAbove : ids.fallsBelow;
    const stopOrder = create(StopOrderSchema, {
      id: ids[half] ?? "",
      ...(linked !== undefined && { ocoLinkId: linked }),
      partyId,
      marketId,
      ...(expiresAt !== undefined && { expiresAt: wholeMicroseconds(expiresAt), expiryStrategy }),
      triggerDirection: DIRECTION[half],
      status: StopOrder_Status.PENDING,
      createdAt: block.time,
      updatedAt: block.time,
      ...(sizeOverrideSetting !== undefined && { sizeOverrideSetting }),
      ...(sizeOverrideValue && {
        sizeOverrideValue: create(StopOrder_SizeOverrideValueSchema, { ...sizeOverrideValue }),
      }),
      trigger,
    });
    const order = orderSubmission ?? create(OrderSubmissionSchema);
    return [{ setup, stopOrder, submission: { ...order, marketId, price: order.price || "0" }, best: 0n }];
  });
}

/** Emit stop orders as they are. */
export function emitStops({ emit }: Work, stops: readonly PendingStop[]): void {
  for (const { stopOrder, submission } of stops) {
    emit({ case: "stopOrder", value: create(StopOrderEventSchema, { stopOrder, submission }) });
  }
}

/** What changes when a stop order ends. */
export type StopEnd = Pick<StopOrder, "status"> & Partial<Pick<StopOrder, "orderId" | "rejectionReason">>;

/** A stop order after its end, in the block. */
export function ended<T extends PendingStop>({ block }: Work, stop: T, end: StopEnd): T {
  return { ...stop, stopOrder: { ...stop.stopOrder, ...end, updatedAt: block.time } };
}

/** The other half of a pair, if it waits. */
export function otherHalf(market: MarketState, { stopOrder }: PendingStop): PendingStop | undefined {
  return market.stops.get(stopOrder.ocoLinkId ?? "");
}

/** Compares stop orders by their identifiers, for sorting. */
export function byId(a: PendingStop, b: PendingStop): number {
  return a.stopOrder.id < b.stopOrder.id ? -1 : 1;
}

/**
 * Cancels a party's stop orders that wait: one of them, along with the other half of its pair; those on a market; or all
 * (v0.78.0, `core/execution/engine.go`, CancelStopOrders).
 *
 * @param work the block
 * @param partyId the party
 * @param cancellation the cancellation; an empty identifier stands for any
 * @returns the network's error, if there is one. It only reports it for batches, and there also for a cancellation of all on a
 *   market, which succeeds
 */
export function cancelStopOrders(
  work: Work,
  partyId: string,
  cancellation: StopOrdersCancellation,
): string | undefined {
  const marketId = (cancellation.marketId ?? "").toLowerCase();
  const id = (cancellation.stopOrderId ?? "").toLowerCase();
  if (marketId === "") {
    if (id !== "") {
      return "market id required when order id specified";
    }
    for (const market of work.state.markets.values()) {
      cancelAll(work, market, partyId);
    }
    return undefined;
  }
  const market = work.state.markets.get(marketId);
  if (market === undefined) {
    return orderErrorText(OrderError.INVALID_MARKET_ID);
  }
  return id === "" ? cancelAll(work, market, partyId) : cancelOne(work, market, partyId, id);
}

function cancelAll(work: Work, market: MarketState, partyId: string): string {
  if (!isOpen(market)) {
    return TRADING_NOT_ALLOWED;
  }
  const own = [...market.stops.values()].filter(({ stopOrder }) => stopOrder.partyId === partyId).toSorted(byId);
  endCancelled(work, market, own);
  return orderErrorText(OrderError.INVALID_MARKET_ID); // So says the network, though all is well.
}

function cancelOne(work: Work, market: MarketState, partyId: string, id: string): string | undefined {
  if (!isOpen(market)) {
    return TRADING_NOT_ALLOWED;
  }
  const stop = market.stops.get(id);
  if (stop?.stopOrder.partyId !== partyId) {
    return "stop order not found";
  }
  const other = otherHalf(market, stop);
  endCancelled(work, market, other === undefined ? [stop] : [stop, other]);
  return undefined;
}

function endCancelled(work: Work, market: MarketState, stops: readonly PendingStop[]): void {
  for (const { stopOrder } of stops) {
    market.stops.delete(stopOrder.id);
  }
  emitStops(
    work,
    stops.map((stop) => ended(work, stop, { status: StopOrder_Status.CANCELLED })),
  );
}
