import { type MarketData, Side } from "../../../gen/vega/vega_pb.js";
import { bestOf } from "./book.js";
import { asUint64 } from "./decimal.js";
import type { MarketState } from "./state.js";

/**
 * Compute the data of a market. What does not follow from its book, its trades and its positions stays as it was.
 *
 * @param market the market
 * @param timestamp the time of the block, in Unix nanoseconds
 * @returns the data; a price that there is none for is "0"
 */
export function marketDataOf(market: MarketState, timestamp: bigint): MarketData {
  const bid = bestOf(market, Side.BUY, "all");
  const offer = bestOf(market, Side.SELL, "all");
  const staticBid = bestOf(market, Side.BUY, "static");
  const staticOffer = bestOf(market, Side.SELL, "static");
  const openInterest = [...market.holdings.values()].reduce((sum, { volume }) => sum + (volume > 0n ? volume : 0n), 0n);
  const lastPrice = String(market.lastPrice);
  return {
    ...market.data,
    market: market.market.id,
    timestamp,
    bestBidPrice: String(bid.price),
    bestBidVolume: asUint64(bid.volume),
    bestOfferPrice: String(offer.price),
    bestOfferVolume: asUint64(offer.volume),
    bestStaticBidPrice: String(staticBid.price),
    bestStaticBidVolume: asUint64(staticBid.volume),
    bestStaticOfferPrice: String(staticOffer.price),
    bestStaticOfferVolume: asUint64(staticOffer.volume),
    midPrice: String(middle(bid.price, offer.price)),
    staticMidPrice: String(middle(staticBid.price, staticOffer.price)),
    markPrice: lastPrice,
    lastTradedPrice: lastPrice,
    openInterest: asUint64(openInterest),
    marketTradingMode: market.market.tradingMode,
    marketState: market.market.state,
  };
}

function middle(bid: bigint, offer: bigint): bigint {
  return bid === 0n || offer === 0n ? 0n : (bid + offer) / 2n;
}
