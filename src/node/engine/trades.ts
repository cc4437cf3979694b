import { create } from "@bufbuild/protobuf";
import {
  AccountType,
  type Fee,
  FeeSchema,
  type Order,
  Order_Status,
  Side,
  type Trade,
  Trade_Type,
  TradeSchema,
  TransferType,
} from "../../../gen/vega/vega_pb.js";
import { min } from "../../base/bigints.js";
import {
  balanceOf,
  emitLedgerMovements,
  type FundsTransfer,
  generalAccount,
  marginAccount,
  networkAccount,
  transferFunds,
} from "./collateral.js";
import type { ExecutionContext, MarketState } from "./engine-state.js";
import { parseFixedPoint, timesPowerOfTen } from "./fixed-point.js";
import { applyTradeToPosition, emitPosition, factoredAmount } from "./open-positions.js";
import {
  addToBook,
  deleteOrder,
  type Fill,
  refreshIceberg,
  removeFromBook,
  storeOrder,
  trueRemaining,
} from "./order-book.js";

/**
 * Executes the trades of an incoming order. As recorded from the network, the fees are paid first, then resting orders
 * are filled and positions change. The incoming order is emitted before the resting ones; an amended order is emitted
 * after the trades.
 */
export function executeTrades(
  context: ExecutionContext,
  market: MarketState,
  taker: Order,
  fills: readonly Fill[],
  after: Order,
): void {
  const trades = fills.map((fill) => ({ fill, fee: feesOf(market, fill) }));
  if (fills.length > 0) {
    payFees(context, market, taker.partyId, trades);
  }
  const isAmended = after.version > 1n;
  if (!isAmended || fills.length === 0) {
    context.emit({ case: "order", value: after });
  }
  if (fills.length === 0) {
    return;
  }
  for (const fill of fills) {
    fillMaker(context, market, fill);
  }
  for (const { fill, fee } of trades) {
    const trade = newTrade(context, market, taker, fill, taker.side);
    context.emit({
      case: "trade",
      value: taker.side === Side.BUY ? { ...trade, buyerFee: fee } : { ...trade, sellerFee: fee },
    });
    const bought = taker.side === Side.BUY ? fill.size : -fill.size;
    applyTradeToPosition(market, taker.partyId, bought, fill.price);
    applyTradeToPosition(market, fill.maker.partyId, -bought, fill.price);
    market.lastPrice = fill.price;
  }
  if (isAmended) {
    context.emit({ case: "order", value: after });
  }
  market.isTraded = true;
  market.hasNewPrice = true;
  for (const partyId of new Set([taker.partyId, ...fills.map(({ maker }) => maker.partyId)])) {
    emitPosition(context, market, partyId);
  }
}

function fillMaker({ block, emit }: ExecutionContext, market: MarketState, { maker, size }: Fill): void {
  const visible = min(size, maker.remaining);
  const { icebergOrder } = maker;
  const filled: Order = {
    ...maker,
    remaining: maker.remaining - visible,
    updatedAt: block.time,
    ...(icebergOrder && {
      icebergOrder: { ...icebergOrder, reservedRemaining: icebergOrder.reservedRemaining - (size - visible) },
    }),
  };
  if (trueRemaining(filled) === 0n) {
    deleteOrder(market, maker);
    emit({ case: "order", value: { ...filled, status: Order_Status.FILLED } });
    return;
  }
  const needsPeak = icebergOrder !== undefined && filled.remaining < icebergOrder.minimumVisibleSize;
  if (needsPeak && trueRemaining(filled) > filled.remaining) {
    const refreshed = refreshIceberg(filled);
    removeFromBook(market, maker);
    addToBook(market, refreshed);
    emit({ case: "order", value: refreshed });
  } else {
    storeOrder(market, filled);
    emit({ case: "order", value: filled });
  }
}

/** Creates a trade without fees. */
export function newTrade(
  { block, nextId }: ExecutionContext,
  { market, priceExponent }: MarketState,
  taker: Order,
  { maker, price, size }: Fill,
  aggressor: Side,
): Trade {
  const [buy, sell] = taker.side === Side.BUY ? [taker, maker] : [maker, taker];
  return create(TradeSchema, {
    id: nextId(),
    marketId: market.id,
    price: String(price),
    size,
    buyer: buy.partyId,
    seller: sell.partyId,
    aggressor,
    buyOrder: buy.id,
    sellOrder: sell.id,
    timestamp: block.time,
    type: Trade_Type.DEFAULT,
    buyerFee: noFees(),
    sellerFee: noFees(),
    assetPrice: String(timesPowerOfTen(price, priceExponent)),
  });
}

function noFees(): Fee {
  return create(FeeSchema, ZERO);
}

const ZERO = {
  makerFee: "0",
  infrastructureFee: "0",
  liquidityFee: "0",
  makerFeeVolumeDiscount: "0",
  infrastructureFeeVolumeDiscount: "0",
  liquidityFeeVolumeDiscount: "0",
  makerFeeReferrerDiscount: "0",
  infrastructureFeeReferrerDiscount: "0",
  liquidityFeeReferrerDiscount: "0",
  treasuryFee: "0",
  buyBackFee: "0",
  highVolumeMakerFee: "0",
};

/** Computes the fees of a trade. Each is a factor of the trade's value, rounded up. */
export function feesOf(market: MarketState, { price, size }: Pick<Fill, "price" | "size">): Fee {
  const factors = market.market.fees?.factors;
  const due = (factor = "0") => String(factoredAmount(market, price * size * parseFixedPoint(factor)));
  return create(FeeSchema, {
    ...ZERO,
    makerFee: due(factors?.makerFee),
    infrastructureFee: due(factors?.infrastructureFee),
    liquidityFee: due(factors?.liquidityFee),
    treasuryFee: due(factors?.treasuryFee),
    buyBackFee: due(factors?.buyBackFee),
  });
}

/**
 * Returns whether a party's general and margin accounts cover fees (v0.78.0, `core/collateral/engine.go`,
 * PartyCanCoverFees).
 */
export function canPayFees(
  context: ExecutionContext,
  market: MarketState,
  partyId: string,
  fees: readonly Fee[],
): boolean {
  const total = fees.reduce((sum, fee) => sum + totalOf(fee), 0n);
  const accounts = [generalAccount(partyId, market.asset), marginAccount(market, partyId)];
  return accounts.reduce((sum, account) => sum + balanceOf(context.state, account), 0n) >= total;
}

const totalOf = ({ makerFee, infrastructureFee, liquidityFee, treasuryFee, buyBackFee }: Fee) =>
  [makerFee, infrastructureFee, liquidityFee, treasuryFee, buyBackFee].reduce((sum, each) => sum + BigInt(each), 0n);

/**
 * Pays the fees of an order's trades (v0.78.0, `core/fee/engine.go`, CalculateForContinuousMode, and as recorded):
 * maker fees, then buy-back, treasury, infrastructure and liquidity fees, even if they are 0. The margin account
 * covers what the general account lacks.
 */
function payFees(
  context: ExecutionContext,
  market: MarketState,
  partyId: string,
  trades: readonly { readonly fill: Fill; readonly fee: Fee }[],
): void {
  const { asset } = market;
  const { id } = market.market;
  const payer = generalAccount(partyId, asset);
  const makers = networkAccount(AccountType.FEES_MAKER, asset, id);
  const total = (of: (fee: Fee) => string) => trades.reduce((sum, { fee }) => sum + BigInt(of(fee)), 0n);
  const shared = (
    type: AccountType,
    marketId: string,
    transfer: TransferType,
    of: (fee: Fee) => string,
  ): FundsTransfer => ({
    from: payer,
    to: networkAccount(type, asset, marketId),
    amount: total(of),
    type: transfer,
  });
  const due = trades.reduce((sum, { fee }) => sum + totalOf(fee), 0n);
  const lacking = due - balanceOf(context.state, payer);
  const margin = marginAccount(market, partyId);
  const refill = { from: margin, to: payer, amount: lacking, type: TransferType.MARGIN_HIGH };
  emitLedgerMovements(
    context,
    transferFunds(context, [
      ...(lacking > 0n ? [refill] : []),
      ...trades.map(({ fee }) => ({
        from: payer,
        to: makers,
        amount: BigInt(fee.makerFee),
        type: TransferType.MAKER_FEE_PAY,
      })),
      shared(AccountType.BUY_BACK_FEES, "", TransferType.BUY_BACK_FEE_PAY, ({ buyBackFee }) => buyBackFee),
      shared(AccountType.NETWORK_TREASURY, "", TransferType.TREASURY_FEE_PAY, ({ treasuryFee }) => treasuryFee),
      shared(
        AccountType.FEES_INFRASTRUCTURE,
        "",
        TransferType.INFRASTRUCTURE_FEE_PAY,
        ({ infrastructureFee }) => infrastructureFee,
      ),
      shared(AccountType.FEES_LIQUIDITY, id, TransferType.LIQUIDITY_FEE_PAY, ({ liquidityFee }) => liquidityFee),
      ...trades.map(({ fill, fee }) => ({
        from: makers,
        to: generalAccount(fill.maker.partyId, asset),
        amount: BigInt(fee.makerFee),
        type: TransferType.MAKER_FEE_RECEIVE,
      })),
    ]),
  );
}
