import type { OrderAmendment, OrderSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "../../../gen/vega/vega_pb.js";
import { amendOrder } from "./amend.js";
import { divideRounded, magnitude, parseDecimal } from "./decimal.js";
import { emitMarginLevels } from "./margins.js";
import { volumeOf } from "./positions.js";
import { isContinuous, type MarketState, type PendingStop, type Work } from "./state.js";
import { byId, emitStops, ended, otherHalf } from "./stop-orders.js";
import { submitOrder } from "./submit.js";
import { followPrice, isTriggered } from "./trailing.js";

const SHARE_DECIMALS = 18;

/** What stands for the whole of a position, in {@link shareOf}. */
export const WHOLE = 10n ** BigInt(SHARE_DECIMALS);

/** A share of a position as a whole number; {@link WHOLE} for all of it. */
export function shareOf(percentage: string): bigint {
  return parseDecimal(percentage, SHARE_DECIMALS);
}

/**
 * Submits an order, and triggers the stop orders of its market whose price that brings about.
 *
 * @param work the block
 * @param partyId who submits it
 * @param submission the order
 * @param id the order's identifier
 * @returns why nothing was done, if so
 */
export function submitAndTrigger(
  work: Work,
  partyId: string,
  submission: OrderSubmission,
  id: string,
): string | undefined {
  const error = submitOrder(work, partyId, submission, id);
  triggerStops(work, submission.marketId);
  emitMarginLevels(work);
  return error;
}

/** Amends an order as {@link amendOrder} does, and triggers the stop orders of its market whose price that brings about. */
export function amendAndTrigger(work: Work, partyId: string, amendment: OrderAmendment): string | undefined {
  const error = amendOrder(work, partyId, amendment);
  triggerStops(work, amendment.marketId);
  emitMarginLevels(work);
  return error;
}

/**
 * Triggers the stop orders of a market that its last price has reached, until no further one is: each triggers once at most
 * (v0.78.0, `core/execution/future/market.go`, triggerStopOrders). None triggers in an auction.
 *
 * @param work the block
 * @param marketId the market; one that does not exist has none
 */
export function triggerStops(work: Work, marketId: string): void {
  const market = work.state.markets.get(marketId.toLowerCase());
  while (market?.isWatched === true && isContinuous(market)) {
    market.isWatched = false;
    followPrice(market, market.lastPrice);
    const triggered = takeTriggered(market);
    const halves = triggered.flatMap((stop) => take(market, otherHalf(market, stop)));
    const turned = [...market.stops.values()].filter((stop) => isTurned(market, stop));
    emitStops(work, [
      ...halves.map((stop) => ended(work, stop, { status: StopOrder_Status.STOPPED })),
      ...turned
        .flatMap((stop) => take(market, stop))
        .map((stop) => ended(work, stop, { status: StopOrder_Status.CANCELLED })),
    ]);
    submitOrdersOf(work, market, triggered, StopOrder_Status.TRIGGERED);
  }
}

/** Take the stop orders that the last price triggers: those that fall, the highest first, those that rise, the lowest first. */
function takeTriggered(market: MarketState): readonly PendingStop[] {
  const triggered = [...market.stops.values()].filter((stop) => isTriggered(market, stop));
  const falling = triggered.filter((stop) => isPriced(stop) && isFalling(stop));
  const rising = triggered.filter((stop) => isPriced(stop) && !isFalling(stop));
  return [
    ...falling.toSorted((a, b) => Number(priceOf(b) - priceOf(a))),
    ...rising.toSorted((a, b) => Number(priceOf(a) - priceOf(b))),
    ...triggered.filter((stop) => !isPriced(stop)),
  ].flatMap((stop) => (market.stops.has(stop.stopOrder.ocoLinkId ?? "") || !hasPair(stop) ? take(market, stop) : []));
}

const hasPair = ({ stopOrder }: PendingStop) => stopOrder.ocoLinkId !== undefined;
const isPriced = ({ stopOrder }: PendingStop) => stopOrder.trigger.case === "price";
const isFalling = ({ stopOrder }: PendingStop) => stopOrder.triggerDirection === StopOrder_TriggerDirection.FALLS_BELOW;
const priceOf = ({ stopOrder: { trigger } }: PendingStop) => BigInt(trigger.case === "price" ? trigger.value : "0");

function take(market: MarketState, stop: PendingStop | undefined): readonly PendingStop[] {
  return stop !== undefined && market.stops.delete(stop.stopOrder.id) ? [stop] : [];
}

/** Whether a stop order whose size is a share of the position is on the position's own side. */
function isTurned(market: MarketState, stop: PendingStop): boolean {
  return isLinked(stop) && volumeOf(market, stop.stopOrder.partyId) !== 0n && !isClosing(market, stop);
}

const isLinked = ({ stopOrder }: PendingStop) =>
  stopOrder.sizeOverrideSetting === StopOrder_SizeOverrideSetting.POSITION;

function isClosing(market: MarketState, { stopOrder, submission }: PendingStop): boolean {
  const volume = volumeOf(market, stopOrder.partyId);
  return submission.side === Side.SELL ? volume > 0n : volume < 0n;
}

/**
 * Submit the orders of stop orders, then emit the stop orders with their status, which they have whatever becomes of the
 * orders. Of one whose size is a share of a position that is not there, or is on the same side, nothing comes at all.
 */
function submitOrdersOf(
  work: Work,
  market: MarketState,
  stops: readonly PendingStop[],
  status: StopOrder_Status.TRIGGERED | StopOrder_Status.EXPIRED,
): void {
  const submitted = stops.flatMap((stop) => {
    const size = sizeOf(market, stop);
    if (size === 0n) {
      return [];
    }
    const { partyId } = stop.stopOrder;
    const submission = { ...stop.submission, size };
    const orderId = orderIdOf(work, stop);
    const error = submitOrder(work, partyId, submission, orderId);
    emitMarginLevels(work);
    return [ended(work, { ...stop, submission }, { status, ...(error === undefined && { orderId }) })];
  });
  emitStops(work, submitted);
}

/**
 * The identifier of the order of a stop order: the next one of the transaction or block, or, where the specification is
 * followed (2.4), the stop order's own.
 */
export function orderIdOf({ nextId, keepsStopOrderIds }: Work, { stopOrder }: PendingStop): string {
  return keepsStopOrderIds ? stopOrder.id : nextId();
}

function sizeOf(market: MarketState, stop: PendingStop): bigint {
  const { stopOrder, submission } = stop;
  if (!isLinked(stop)) {
    return submission.size;
  }
  const volume = magnitude(volumeOf(market, stopOrder.partyId));
  const share = stopOrder.sizeOverrideValue === undefined ? WHOLE : shareOf(stopOrder.sizeOverrideValue.percentage);
  return isClosing(market, stop) ? divideRounded(volume * share, WHOLE) : 0n;
}

/**
 * Expires the stop orders of a market whose time has come: they end, or submit their orders. The other half of one that
 * expires is stopped (v0.78.0, `core/execution/future/market.go`, removeExpiredStopOrders).
 *
 * @param work the block
 * @param market the market
 */
export function expireStops(work: Work, market: MarketState): void {
  const isDue = ({ stopOrder: { expiresAt } }: PendingStop) => expiresAt !== undefined && expiresAt <= work.block.time;
  const due = [...market.stops.values()].filter(isDue).flatMap((stop) => take(market, stop));
  const halves = due.flatMap((stop) => take(market, otherHalf(market, stop)));
  const { EXPIRED, STOPPED } = StopOrder_Status;
  if (!isContinuous(market)) {
    const all = [...due, ...halves].toSorted(byId);
    emitStops(
      work,
      all.map((stop) => ended(work, stop, { status: EXPIRED })),
    );
    return;
  }
  const submits = ({ stopOrder }: PendingStop) => stopOrder.expiryStrategy === StopOrder_ExpiryStrategy.SUBMIT;
  const silent = [
    ...due.filter((stop) => !submits(stop)).map((stop) => ended(work, stop, { status: EXPIRED })),
    ...halves.map((stop) => ended(work, stop, { status: STOPPED })),
  ];
  emitStops(work, silent.toSorted(byId));
  submitOrdersOf(work, market, due.filter(submits).toSorted(byId), EXPIRED);
}
