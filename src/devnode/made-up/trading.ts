import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FeeSchema,
  type Order,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  OrderSchema,
  PeggedReference,
  Side,
  type Trade,
  Trade_Type,
  TradeSchema,
} from "../../../gen/vega/vega_pb.js";
import type { Block } from "../world/event.js";
import { blockTime, COUNT, earlier, marketId, partyId } from "./chain.js";
import { numberedId, pick, scatter } from "./numbers.js";
import { freeText } from "./texts.js";

/**
 * What a block of the history trades, on the market whose turn it is: a buyer and a seller trade twice, and a third order
 * does not trade. All of them are finished with the block.
 */
export const ORDERS_PER_BLOCK = 3;
export const TRADES_PER_BLOCK = 2;

const SECOND = 1_000_000_000n;

/** The number of a block, from 0; it chooses the market. */
export const turn = (height: bigint): number => Number(height) - 1;

/** The price of a trade by its number. */
export const tradePrice = (trade: number): number => scatter(2_650_000, 40_000, trade);

const tradeSize = (trade: number): number => scatter(1, 250, trade);
const buyer = (k: number): string => partyId(k);
const seller = (k: number): string => partyId(k + 31);

/** Whether the seller of a block takes what is on the book at any price, or else the buyer takes the seller's offer. */
const sellerTakes = (k: number): boolean => k % 5 < 2;

/**
 * Make a trade of the history.
 *
 * @param block its block
 * @param index its place among the block's trades, from 0
 * @returns the trade
 */
export function madeUpTrade({ height, time }: Block, index: number): Trade {
  const k = turn(height);
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

/** What a side of a trade pays: the one that takes, by the trade's number from 1; the other one nothing, for 0. */
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

/**
 * Make an order of the history, as it stands in the end.
 *
 * @param block its block
 * @param index its place among the block's orders, from 0: the buyer's, the seller's, and one that does not trade
 * @returns the order
 */
export function madeUpOrder({ height, time }: Block, index: number): Order {
  const k = turn(height);
  const number = ORDERS_PER_BLOCK * k + index;
  const { lifetime, ...fate } = index === 0 ? buying(k) : index === 1 ? selling(k) : idle(k);
  const expired = fate.status === Order_Status.EXPIRED;
  const createdAt = expired ? time - earlier(lifetime, time - blockTime(1n)) : time;
  return create(OrderSchema, {
    id: numberedId("order", number),
    marketId: marketId(k % COUNT.market),
    createdAt,
    updatedAt: number % 3 === 0 || expired ? time : 0n,
    expiresAt: expired ? time : fate.timeInForce === Order_TimeInForce.GTT ? createdAt + lifetime : 0n,
    reference: freeText(number),
    version: BigInt(1 + (number % 3)),
    batchId: 1n,
    reduceOnly: fate.timeInForce === Order_TimeInForce.IOC && number % 7 === 0,
    ...fate,
  });
}

type Fate = MessageInitShape<typeof OrderSchema> & {
  readonly status: Order_Status;
  readonly timeInForce: Order_TimeInForce;
  /** How long it may rest, in nanoseconds. */
  readonly lifetime: bigint;
};

const prices = (k: number): [number, number] => [tradePrice(2 * k), tradePrice(2 * k + 1)];
const traded = (k: number): number => tradeSize(2 * k) + tradeSize(2 * k + 1);

/** The buyer's order: filled, or what was left of it was cancelled or expired. */
function buying(k: number): Fate {
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

/** The seller's order: filled, or filled in part where it does not rest. Where it takes any price, it has none. */
function selling(k: number): Fate {
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

type IdleFate = Pick<Fate, "status" | "timeInForce">;
const IDLE: readonly [IdleFate, ...IdleFate[]] = [
  { status: Order_Status.CANCELLED, timeInForce: Order_TimeInForce.GTC },
  { status: Order_Status.REJECTED, timeInForce: Order_TimeInForce.GTC },
  { status: Order_Status.STOPPED, timeInForce: Order_TimeInForce.FOK },
  { status: Order_Status.EXPIRED, timeInForce: Order_TimeInForce.GTT },
];

/** The order that does not trade: cancelled, rejected, stopped or expired; some were pegged or a provider's. */
function idle(k: number): Fate {
  const fate = pick(IDLE, k);
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
    ...fate,
    ...(fate.status === Order_Status.REJECTED && {
      reason: pick([OrderError.MARGIN_CHECK_FAILED, OrderError.INSUFFICIENT_ASSET_BALANCE], (k - 1) / 4),
    }),
    ...(fate.status === Order_Status.CANCELLED &&
      side === Side.BUY && { peggedOrder: { reference, offset: String(1 + (k % 100)) } }),
    liquidityProvisionId: k % 9 === 0 ? numberedId("liquidity_provision", k % 40) : "",
    lifetime: 60n * SECOND,
  };
}
