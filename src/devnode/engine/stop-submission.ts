import type { StopOrdersSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import { Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import {
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
} from "../../../gen/vega/vega_pb.js";
import type { StopOrderIdentifiers } from "../../transaction/identifiers.js";
import { volumeOf } from "./positions.js";
import { isContinuous, isOpen, type MarketState, noteExpiry, type Work } from "./state.js";
import { emitStops, type SubmittedStop, submittedStops } from "./stop-orders.js";
import { isTriggered } from "./trailing.js";
import { orderIdOf, shareOf, submitAndTrigger, WHOLE } from "./triggers.js";

/**
 * Submits a stop order, or a pair of them (v0.78.0, `core/execution/future/market.go`,
 * SubmitStopOrdersWithIDGeneratorAndOrderIDs). One whose price is passed already submits its order at once. The result of the
 * transaction does not say whether they were rejected, or that their market does not exist.
 *
 * @param work the block
 * @param partyId who submits them
 * @param submission the stop orders
 * @param ids their identifiers
 */
export function submitStopOrders(
  work: Work,
  partyId: string,
  submission: StopOrdersSubmission,
  ids: StopOrderIdentifiers,
): void {
  const stops = submittedStops(work, partyId, submission, ids);
  const market = work.state.markets.get(stops[0]?.stopOrder.marketId ?? "");
  if (market === undefined) {
    return;
  }
  const rejectionReason = rejectionOf(work, market, partyId, stops);
  if (rejectionReason !== undefined) {
    emitStops(
      work,
      stops.map((stop) => ({
        ...stop,
        stopOrder: { ...stop.stopOrder, status: StopOrder_Status.REJECTED, rejectionReason },
      })),
    );
    return;
  }
  const fired = isContinuous(market) ? stops.find((stop) => isPassed(market, stop)) : undefined;
  if (fired === undefined) {
    for (const { setup: _, ...stop } of stops) {
      market.stops.set(stop.stopOrder.id, { ...stop, best: market.lastPrice });
      noteExpiry(market, stop.stopOrder.expiresAt);
    }
    emitStops(work, stops);
    return;
  }
  const orderId = orderIdOf(work, fired);
  submitAndTrigger(work, partyId, fired.submission, orderId);
  emitStops(
    work,
    stops.map((stop) => {
      const end =
        stop === fired ? { status: StopOrder_Status.TRIGGERED, orderId } : { status: StopOrder_Status.STOPPED };
      return { ...stop, stopOrder: { ...stop.stopOrder, ...end } };
    }),
  );
}

function isPassed(market: MarketState, stop: SubmittedStop): boolean {
  return stop.stopOrder.trigger.case === "price" && isTriggered(market, stop);
}

function rejectionOf(
  { block, maxStopOrders }: Work,
  market: MarketState,
  partyId: string,
  stops: readonly SubmittedStop[],
): StopOrder_RejectionReason | undefined {
  if (market.market.tradingMode === Market_TradingMode.OPENING_AUCTION) {
    return StopOrder_RejectionReason.STOP_ORDER_NOT_ALLOWED_DURING_OPENING_AUCTION;
  }
  if (!isOpen(market)) {
    return StopOrder_RejectionReason.TRADING_NOT_ALLOWED;
  }
  for (const { setup } of stops) {
    if (setup.expiresAt !== undefined && setup.expiresAt < block.time) {
      return StopOrder_RejectionReason.EXPIRY_IN_THE_PAST;
    }
    if (setup.orderSubmission?.reduceOnly !== true) {
      return StopOrder_RejectionReason.MUST_BE_REDUCE_ONLY;
    }
  }
  const [first, second] = stops;
  if (second?.setup.expiresAt !== undefined && first?.setup.expiresAt === second.setup.expiresAt) {
    return StopOrder_RejectionReason.STOP_ORDER_CANNOT_MATCH_OCO_EXPIRY_TIMES;
  }
  const pending = [...market.stops.values()].filter(({ stopOrder }) => stopOrder.partyId === partyId).length;
  if (pending + stops.length > maxStopOrders) {
    return StopOrder_RejectionReason.MAX_STOP_ORDERS_PER_PARTY_REACHED;
  }
  if (volumeOf(market, partyId) === 0n && ![...market.orders.values()].some((order) => order.partyId === partyId)) {
    return StopOrder_RejectionReason.STOP_ORDER_NOT_ALLOWED_WITHOUT_A_POSITION;
  }
  return stops.every(isShare) ? undefined : StopOrder_RejectionReason.STOP_ORDER_LINKED_PERCENTAGE_INVALID;
}

/** Whether the share of the position that a stop order asks for is above 0, and 1 at most; or it asks for none. */
function isShare({ setup: { sizeOverrideSetting, sizeOverrideValue } }: SubmittedStop): boolean {
  if (sizeOverrideSetting !== StopOrder_SizeOverrideSetting.POSITION || sizeOverrideValue === undefined) {
    return true;
  }
  const share = shareOf(sizeOverrideValue.percentage);
  return share > 0n && share <= WHOLE;
}
