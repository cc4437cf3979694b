import {
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
} from "../../../gen/vega/vega_pb.js";
import { divideRounded, magnitude } from "./decimal.js";
import { volumeOf } from "./positions.js";
import { isContinuous, type MarketState, type PendingStop, type Work } from "./state.js";
import { endOther, endStop, shareOf, WHOLE } from "./stop-orders.js";
import { submitOrder } from "./submit.js";
import { isTriggered } from "./trailing.js";

/**
 * Trigger the stop orders of a market that its last price has reached, in the order in which they came, until no further
 * one is: each triggers once at most. None triggers in an auction.
 *
 * @param work the block
 * @param market the market
 */
export function triggerStops(work: Work, market: MarketState): void {
  while (market.isWatched && isContinuous(market)) {
    market.isWatched = false;
    for (const stop of [...market.stops.values()].filter((each) => isTriggered(market, each))) {
      // One that triggered before it may have been the other half.
      if (market.stops.has(stop.stopOrder.id)) {
        trigger(work, market, stop);
      }
    }
  }
}

/**
 * Submit the order of a stop order, under the stop order's own identifier, and stop the other half. The stop order is
 * triggered whatever becomes of the order, which may be rejected. One whose size is a share of a position, where there is
 * none, is stopped.
 */
function trigger(work: Work, market: MarketState, stop: PendingStop): void {
  const { id, partyId } = stop.stopOrder;
  const size = sizeOf(market, stop);
  if (size === 0n) {
    endStop(work, market, stop, { status: StopOrder_Status.STOPPED });
    endOther(work, market, stop, StopOrder_Status.STOPPED);
    return;
  }
  endStop(work, market, stop, { status: StopOrder_Status.TRIGGERED, orderId: id });
  endOther(work, market, stop, StopOrder_Status.STOPPED);
  submitOrder(work, partyId, { ...stop.submission, size }, id);
}

function sizeOf(market: MarketState, { stopOrder, submission }: PendingStop): bigint {
  if (stopOrder.sizeOverrideSetting !== StopOrder_SizeOverrideSetting.POSITION) {
    return submission.size;
  }
  const volume = magnitude(volumeOf(market, stopOrder.partyId));
  return divideRounded(volume * shareOf(stopOrder.sizeOverrideValue?.percentage ?? "0"), WHOLE);
}

/**
 * Let the stop orders of a market expire whose time has come: they end, or submit their orders. The other half of one that
 * ends ends too.
 *
 * @param work the block
 * @param market the market
 */
export function expireStops(work: Work, market: MarketState): void {
  for (const stop of [...market.stops.values()]) {
    const { id, expiresAt, expiryStrategy } = stop.stopOrder;
    if (expiresAt === undefined || expiresAt > work.block.time || !market.stops.has(id)) {
      continue;
    }
    if (expiryStrategy === StopOrder_ExpiryStrategy.SUBMIT) {
      trigger(work, market, stop);
    } else {
      endStop(work, market, stop, { status: StopOrder_Status.EXPIRED });
      endOther(work, market, stop, StopOrder_Status.EXPIRED);
    }
  }
}
