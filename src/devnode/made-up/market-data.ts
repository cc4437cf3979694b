import { create } from "@bufbuild/protobuf";
import { CompositePriceType, Market_State } from "../../../gen/vega/markets_pb.js";
import { AuctionTrigger, type MarketData, MarketDataSchema } from "../../../gen/vega/vega_pb.js";
import type { Block } from "../world/event.js";
import { COUNT, marketId, partyId } from "./chain.js";
import { hasBook, marketState, tradingMode } from "./markets.js";
import { decimal, pick, scatter } from "./numbers.js";
import { openInterest } from "./positions.js";
import { TRADES_PER_BLOCK, tradePrice } from "./trading.js";

const MINUTE = 60_000_000_000n;

/** The distance of a market's best prices from the last one, and that of the levels of a book. */
const HALF_SPREAD = 1000;
const LEVEL_STEP = 100;

/** The levels on each side of a made-up book. */
export const BOOK_LEVELS = 10;

/** A level of a book: its price, and the volume that rests there. */
export interface Level {
  readonly price: number;
  readonly volume: number;
}

/**
 * Give a level of a market's book, as it is with the data of a block.
 *
 * @param k the number of the block, from 0
 * @param side 1 for what is offered, -1 for what is bid
 * @param level from 0, the best one
 * @returns the level
 */
export function bookLevel(k: number, side: 1 | -1, level: number): Level {
  const price = lastPrice(k) + side * (HALF_SPREAD + LEVEL_STEP * level);
  return { price, volume: scatter(1, side === 1 ? 6000 : 5000, k) + 7 * level };
}

/** The price of the last trade of a block, on the market that has its turn in it. */
const lastPrice = (k: number): number => tradePrice(TRADES_PER_BLOCK * k + TRADES_PER_BLOCK - 1);

/**
 * Make the data of the market that has its turn in a block: how it is after the block's trades.
 *
 * @param block when the data is told
 * @param k the number of the block that the data is of, from 0
 * @returns the data
 */
export function madeUpMarketData({ time }: Pick<Block, "time">, k: number): MarketData {
  const market = k % COUNT.market;
  const state = marketState(market);
  const auction = state === Market_State.PENDING || state === Market_State.SUSPENDED;
  const price = String(lastPrice(k));
  return create(MarketDataSchema, {
    market: marketId(market),
    timestamp: time,
    markPrice: price,
    lastTradedPrice: price,
    ...best(k, hasBook(market)),
    openInterest: openInterest(market),
    auctionStart: auction ? time - MINUTE : 0n,
    auctionEnd: auction ? time + 4n * MINUTE : 0n,
    indicativePrice: "0",
    marketTradingMode: tradingMode(market),
    marketState: state,
    trigger: pick(
      [AuctionTrigger.UNSPECIFIED, AuctionTrigger.OPENING, AuctionTrigger.PRICE, AuctionTrigger.UNSPECIFIED],
      market,
    ),
    extensionTrigger: auction && k % 5 === 0 ? AuctionTrigger.LIQUIDITY_TARGET_NOT_MET : AuctionTrigger.UNSPECIFIED,
    targetStake: String(scatter(1_000, 900_000, k)),
    suppliedStake: String(scatter(2_000, 900_000, k)),
    priceMonitoringBounds: [
      {
        minValidPrice: "2600000",
        maxValidPrice: "2740000",
        trigger: { horizon: BigInt(k % 60), probability: "0.99", auctionExtension: 300n },
        referencePrice: "2670000.5",
        active: true,
      },
    ],
    marketValueProxy: String(scatter(1_000_000, 900_000, k)),
    liquidityProviderFeeShare: [
      {
        party: partyId(k),
        equityLikeShare: decimal(1 + (k % 100), 2),
        averageEntryValuation: "1",
        averageScore: "0.5",
      },
    ],
    nextMarkToMarket: time + MINUTE / 12n,
    marketGrowth: String((k % 7) - 3),
    nextNetworkCloseout: time + MINUTE,
    markPriceType: CompositePriceType.LAST_TRADE,
    ...(k % 3 === 0 && {
      markPriceState: { priceSources: [{ priceSource: "priceFromTrades", price, lastUpdated: time }] },
    }),
  });
}

/** The best prices and volumes: those of the book, or none. */
function best(k: number, book: boolean) {
  const none = { price: 0, volume: 0 };
  const [bid, offer] = book ? [bookLevel(k, -1, 0), bookLevel(k, 1, 0)] : [none, none];
  const middle = String((bid.price + offer.price) / 2);
  return {
    bestBidPrice: String(bid.price),
    bestBidVolume: BigInt(bid.volume),
    bestOfferPrice: String(offer.price),
    bestOfferVolume: BigInt(offer.volume),
    bestStaticBidPrice: String(bid.price),
    bestStaticBidVolume: BigInt(bid.volume),
    bestStaticOfferPrice: String(offer.price),
    bestStaticOfferVolume: BigInt(offer.volume),
    midPrice: middle,
    staticMidPrice: middle,
  };
}
