import { StopOrder_TriggerDirection } from "../../../gen/vega/vega_pb.js";
import { parseDecimal } from "./decimal.js";
import type { MarketState, PendingStop } from "./state.js";

const OFFSET_DECIMALS = 18;
const ONE = 10n ** BigInt(OFFSET_DECIMALS);

/**
 * Lets the trailing stop orders of a market follow its last price: the highest one for those that wait for a fall, the lowest
 * one for those that wait for a rise.
 *
 * @param market the market, whose stop orders change
 * @param price its last price after an order has traded
 */
export function followPrice(market: MarketState, price: bigint): void {
  for (const [id, stop] of market.stops) {
    const { trigger, triggerDirection } = stop.stopOrder;
    const isBetter =
      triggerDirection === StopOrder_TriggerDirection.FALLS_BELOW ? price > stop.best : price < stop.best;
    if (trigger.case === "trailingPercentOffset" && (isBetter || stop.best === 0n)) {
      market.stops.set(id, { ...stop, best: price });
    }
  }
}

/**
 * Tell whether the last price of a market triggers a stop order. A price that is reached triggers.
 *
 * @param market the market
 * @param stop the stop order
 * @returns `false` also before there was a trade
 */
export function isTriggered({ lastPrice }: MarketState, stop: PendingStop): boolean {
  const { trigger, triggerDirection } = stop.stopOrder;
  if (lastPrice === 0n || trigger.case === undefined) {
    return false;
  }
  const rises = triggerDirection === StopOrder_TriggerDirection.RISES_ABOVE;
  if (trigger.case === "price") {
    const price = BigInt(trigger.value);
    return rises ? lastPrice >= price : lastPrice <= price;
  }
  const offset = parseDecimal(trigger.value, OFFSET_DECIMALS);
  const level = stop.best * (rises ? ONE + offset : ONE - offset);
  return rises ? lastPrice * ONE >= level : lastPrice * ONE <= level;
}
