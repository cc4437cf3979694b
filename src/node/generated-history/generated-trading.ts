import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { CompositePriceType, Market_State } from "../../../gen/vega/markets_pb.js";
import {
  AuctionTrigger,
  FeeSchema,
  type MarketData,
  MarketDataSchema,
  type Order,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  OrderSchema,
  PeggedReference,
  type Position,
  PositionSchema,
  PositionStatus,
  Side,
  type Trade,
  Trade_Type,
  TradeSchema,
} from "../../../gen/vega/vega_pb.js";
import type { Block } from "../world/block-event.js";
import { hasBook, marketState, tradingMode } from "./generated-markets.js";
import {
  blockTime,
  COUNT,
  decimal,
  earlier,
  freeText,
  marketId,
  numberedId,
  partyId,
  pick,
  scatter,
} from "./seeded-values.js";

/**
 * Orders and trades per block. On one market per block, a buyer and a seller trade twice, and a third order does not
 * trade. All orders are finished at the end of the block.
 */
export const ORDERS_PER_BLOCK = 3;
export const TRADES_PER_BLOCK = 2;

const SECOND = 1_000_000_000n;

/** Returns the index of a block, from 0, which determines the market. */
export const blockIndex = (height: bigint): number => Number(height) - 1;

export const tradePrice = (trade: number): number => scatter(2_650_000, 40_000, trade);

const tradeSize = (trade: number): number => scatter(1, 250, trade);
const buyer = (k: number): string => partyId(k);
const seller = (k: number): string => partyId(k + 31);

/** Returns whether the seller is the aggressor of a block's trades, instead of the buyer. */
const sellerTakes = (k: number): boolean => k % 5 < 2;

export function generatedTrade({ height, time }: Block, index: number): Trade {
  const k = blockIndex(height);
  const number = TRADES_PER_BLOCK * k + index;
  const type = pick([Trade_Type.DEFAULT, Trade_Type.DEFAULT, Trade_Type.NETWORK_CLOSE_OUT_GOOD], number);
  const batch = k % 8 === 0 ? BigInt(height) : 0n;
  const [buyerFee, sellerFee] = sellerTakes(k) ? [0, number + 1] : [number + 1, 0];
  return create(TradeSchema, {
    id: numberedId("trade", number),
    marketId: marketId(k % COUNT.market),
    price: String(tradePrice(number)),
    size: BigInt(tradeSize(number)),
    buyer: buyer(k),
    seller: seller(k),
    aggressor: sellerTakes(k) ? Side.SELL : Side.BUY,
    buyOrder: numberedId("order", ORDERS_PER_BLOCK * k),
    sellOrder: numberedId("order", ORDERS_PER_BLOCK * k + 1),
    timestamp: time,
    type,
    buyerFee: fee(buyerFee),
    sellerFee: fee(sellerFee),
    buyerAuctionBatch: batch,
    sellerAuctionBatch: batch,
  });
}

/** Generates the fees of one side of a trade: those of the aggressor by the trade's number from 1, or none for 0. */
function fee(number: number): MessageInitShape<typeof FeeSchema> {
  const part = (spread: number) => (number === 0 ? "0" : String(scatter(0, spread, number)));
  return create(FeeSchema, {
    makerFee: part(900),
    infrastructureFee: part(500),
    liquidityFee: part(700),
    makerFeeVolumeDiscount: part(90),
    infrastructureFeeVolumeDiscount: part(50),
    liquidityFeeVolumeDiscount: part(70),
    makerFeeReferrerDiscount: part(9),
    infrastructureFeeReferrerDiscount: part(5),
    liquidityFeeReferrerDiscount: part(7),
    treasuryFee: part(40),
    buyBackFee: part(90),
    highVolumeMakerFee: part(20),
  });
}

export function generatedOrder({ height, time }: Block, index: number): Order {
  const k = blockIndex(height);
  const number = ORDERS_PER_BLOCK * k + index;
  const { lifetime, ...fields } = index === 0 ? buyOrder(k) : index === 1 ? sellOrder(k) : untradedOrder(k);
  const expired = fields.status === Order_Status.EXPIRED;
  const createdAt = expired ? time - earlier(lifetime, time - blockTime(1n)) : time;
  return create(OrderSchema, {
    id: numberedId("order", number),
    marketId: marketId(k % COUNT.market),
    createdAt,
    updatedAt: number % 3 === 0 || expired ? time : 0n,
    expiresAt: expired ? time : fields.timeInForce === Order_TimeInForce.GTT ? createdAt + lifetime : 0n,
    reference: freeText(number),
    version: BigInt(1 + (number % 3)),
    batchId: 1n,
    reduceOnly: fields.timeInForce === Order_TimeInForce.IOC && number % 7 === 0,
    ...fields,
  });
}

type OrderFields = MessageInitShape<typeof OrderSchema> & {
  readonly status: Order_Status;
  readonly timeInForce: Order_TimeInForce;
  /** Time that it may rest on the book, in nanoseconds. */
  readonly lifetime: bigint;
};

const prices = (k: number): [number, number] => [tradePrice(2 * k), tradePrice(2 * k + 1)];
const traded = (k: number): number => tradeSize(2 * k) + tradeSize(2 * k + 1);

/** Generates the buyer's order: filled, or partly filled and then canceled or expired. */
function buyOrder(k: number): OrderFields {
  const status = pick([Order_Status.FILLED, Order_Status.FILLED, Order_Status.CANCELLED, Order_Status.EXPIRED], k);
  const remaining = status === Order_Status.FILLED ? 0 : 1 + (k % 50);
  const expires = status === Order_Status.EXPIRED || k % 8 === 0;
  return {
    partyId: buyer(k),
    side: Side.BUY,
    type: Order_Type.LIMIT,
    price: String(Math.max(...prices(k)) + (k % 10)),
    size: BigInt(traded(k) + remaining),
    remaining: BigInt(remaining),
    timeInForce: expires ? Order_TimeInForce.GTT : Order_TimeInForce.GTC,
    status,
    postOnly: sellerTakes(k) && k % 4 === 0,
    ...(k % 6 === 0 && {
      icebergOrder: { peakSize: BigInt(10 + (k % 90)), minimumVisibleSize: BigInt(1 + (k % 9)), reservedRemaining: 0n },
    }),
    lifetime: 3600n * SECOND,
  };
}

/** Generates the seller's order: filled, or partly filled if it does not rest. A market order has no price. */
function sellOrder(k: number): OrderFields {
  const takes = sellerTakes(k);
  const remaining = takes && k % 2 === 1 ? 1 + (k % 70) : 0;
  const market = takes && k % 5 === 0;
  return {
    partyId: seller(k),
    side: Side.SELL,
    type: market ? Order_Type.MARKET : Order_Type.LIMIT,
    price: market ? "0" : String(Math.min(...prices(k)) - (k % 10)),
    size: BigInt(traded(k) + remaining),
    remaining: BigInt(remaining),
    timeInForce: takes ? Order_TimeInForce.IOC : Order_TimeInForce.GTC,
    status: remaining > 0 ? Order_Status.PARTIALLY_FILLED : Order_Status.FILLED,
    lifetime: 0n,
  };
}

type UntradedFields = Pick<OrderFields, "status" | "timeInForce">;
const UNTRADED: readonly [UntradedFields, ...UntradedFields[]] = [
  { status: Order_Status.CANCELLED, timeInForce: Order_TimeInForce.GTC },
  { status: Order_Status.REJECTED, timeInForce: Order_TimeInForce.GTC },
  { status: Order_Status.STOPPED, timeInForce: Order_TimeInForce.FOK },
  { status: Order_Status.EXPIRED, timeInForce: Order_TimeInForce.GTT },
];

/**
 * Generates the order without trades: canceled, rejected, stopped or expired. Some are pegged or belong to a
 * liquidity provision.
 */
function untradedOrder(k: number): OrderFields {
  const fields = pick(UNTRADED, k);
  const size = BigInt(scatter(1, 500, k));
  const side = k % 3 === 0 ? Side.SELL : Side.BUY;
  const reference = pick([PeggedReference.MID, PeggedReference.BEST_BID], k / 4);
  return {
    partyId: partyId(k + 67),
    side,
    type: Order_Type.LIMIT,
    price: String(tradePrice(k) + (side === Side.BUY ? -2_000 : 2_000)),
    size,
    remaining: size,
    ...fields,
    ...(fields.status === Order_Status.REJECTED && {
      reason: pick([OrderError.MARGIN_CHECK_FAILED, OrderError.INSUFFICIENT_ASSET_BALANCE], (k - 1) / 4),
    }),
    ...(fields.status === Order_Status.CANCELLED &&
      side === Side.BUY && { peggedOrder: { reference, offset: String(1 + (k % 100)) } }),
    liquidityProvisionId: k % 9 === 0 ? numberedId("liquidity_provision", k % 40) : "",
    lifetime: 60n * SECOND,
  };
}

/** Number of positions. Each is emitted once in this number of blocks. */
export const POSITIONS = COUNT.market * COUNT.party;

/** Generates the position that a block emits. Its volume is constant, so the volumes of a market always add up to 0. */
export function generatedPosition({ time }: Pick<Block, "time">, k: number): Position {
  const market = k % COUNT.market;
  const party = k % COUNT.party;
  const openVolume = volume(market, party);
  return create(PositionSchema, {
    marketId: marketId(market),
    partyId: partyId(party),
    openVolume: BigInt(openVolume),
    realisedPnl: String(scatter(-450_000, 900_000, k)),
    unrealisedPnl: openVolume === 0 ? "0" : String(scatter(-400_000, 800_000, k)),
    averageEntryPrice: openVolume === 0 ? "0" : String(scatter(2_650_000, 40_000, k)),
    updatedAt: time,
    lossSocialisationAmount: String(scatter(0, 500, k)),
    positionStatus: pick([PositionStatus.UNSPECIFIED, PositionStatus.ORDERS_CLOSED], k),
  });
}

/**
 * Neighboring parties hold opposite volumes. The last party, which has no neighbor, holds none, and nobody does on a
 * settled market.
 */
function volume(market: number, party: number): number {
  const alone = party === COUNT.party - 1;
  if (alone || marketState(market) === Market_State.SETTLED) {
    return 0;
  }
  const size = scatter(1, 1000, COUNT.market * Math.floor(party / 2) + market);
  return (party + market) % 2 === 0 ? size : -size;
}

function openInterest(market: number): bigint {
  const known = interests.get(market);
  if (known !== undefined) {
    return known;
  }
  const volumes = Array.from({ length: COUNT.party }, (_, party) => Math.max(volume(market, party), 0));
  const sum = BigInt(volumes.reduce((a, b) => a + b, 0));
  interests.set(market, sum);
  return sum;
}

const interests = new Map<number, bigint>();

const MINUTE = 60_000_000_000n;

/** Distance of the best prices from the last price, and between price levels. */
const HALF_SPREAD = 1000;
const LEVEL_STEP = 100;

/** Number of price levels per side. */
const BOOK_LEVELS = 10;

interface GeneratedLevel {
  readonly price: number;
  readonly volume: number;
}

/** Returns a price level of a market's order book as of a block. */
function bookLevel(k: number, side: 1 | -1, level: number): GeneratedLevel {
  const price = lastPrice(k) + side * (HALF_SPREAD + LEVEL_STEP * level);
  return { price, volume: scatter(1, side === 1 ? 6000 : 5000, k) + 7 * level };
}

/** Returns the last trade price of a block. */
const lastPrice = (k: number): number => tradePrice(TRADES_PER_BLOCK * k + TRADES_PER_BLOCK - 1);

export function generatedMarketData({ time }: Pick<Block, "time">, k: number): MarketData {
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

/** Returns the best prices and volumes of the order book; 0 without one. */
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

/** The party whose orders rest on the order books at the end of the history. It has no position. */
export const makerId: string = partyId(COUNT.party - 1);

/**
 * Generates the orders that rest on the order books at the end of the history, one per price level of the market data.
 */
export function restingOrders({ time }: Block, latestIndex: (market: number) => number): Order[] {
  const markets = Array.from({ length: COUNT.market }, (_, market) => market).filter(hasBook);
  return markets.flatMap((market) =>
    ([-1, 1] as const).flatMap((side) =>
      Array.from({ length: BOOK_LEVELS }, (_, level) => {
        const { price, volume } = bookLevel(latestIndex(market), side, level);
        return create(OrderSchema, {
          id: numberedId("resting_order", (market * 2 + (side === 1 ? 1 : 0)) * BOOK_LEVELS + level),
          marketId: marketId(market),
          partyId: makerId,
          side: side === 1 ? Side.SELL : Side.BUY,
          price: String(price),
          size: BigInt(volume),
          remaining: BigInt(volume),
          timeInForce: Order_TimeInForce.GTC,
          type: Order_Type.LIMIT,
          status: Order_Status.ACTIVE,
          createdAt: time,
          reference: `maker ${side === 1 ? "offer" : "bid"} ${level}`,
          version: 1n,
        });
      }),
    ),
  );
}
