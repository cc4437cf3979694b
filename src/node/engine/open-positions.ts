import { create } from "@bufbuild/protobuf";
import { AccountType, type Position, PositionSchema, TransferType } from "../../../gen/vega/vega_pb.js";
import { min } from "../../base/bigints.js";
import {
  balanceOf,
  emitLedgerMovements,
  type FundsTransfer,
  generalAccount,
  hasMarginAccount,
  marginAccount,
  networkAccount,
  transferFunds,
} from "./collateral.js";
import { type ExecutionContext, type MarketState, type PartyPosition, PRECISION } from "./engine-state.js";
import { abs, divideRounded, divideUp, FIXED_POINT_DECIMALS, parseFixedPoint, timesPowerOfTen } from "./fixed-point.js";

const PRECISION_DECIMALS = String(PRECISION).length - 1;

/**
 * Creates a party's position from its message. It counts as settled at the last price, or at its entry price if there
 * was no trade.
 */
export function partyPositionOf(position: Position, lastPrice: bigint): PartyPosition {
  const entryPrice = parseFixedPoint(position.averageEntryPrice, PRECISION_DECIMALS);
  return {
    position,
    volume: position.openVolume,
    entryPrice,
    realisedPnl: parseFixedPoint(position.realisedPnl, PRECISION_DECIMALS),
    settledValue: position.openVolume * (lastPrice === 0n ? entryPrice / PRECISION : lastPrice),
  };
}

/** Returns a party's open volume on a market; negative for a short position. */
export function volumeOf(market: MarketState, partyId: string): bigint {
  return market.positions.get(partyId)?.volume ?? 0n;
}

/** Converts price times volume to units of the asset's last decimal, rounded down. */
function assetAmount(market: MarketState, value: bigint): bigint {
  return timesPowerOfTen(value, market.amountExponent);
}

/** Converts price times volume times a factor to units of the asset's last decimal. */
export function factoredAmount(market: MarketState, value: bigint): bigint {
  const exponent = market.amountExponent - FIXED_POINT_DECIMALS;
  return exponent < 0 ? divideUp(value, 10n ** BigInt(-exponent)) : value * 10n ** BigInt(exponent);
}

/**
 * Settles a party's gain or loss since the last settlement in whole units of the asset. A remainder below one unit
 * stays open until the next settlement.
 */
function settleToMark(market: MarketState, partyId: string): bigint {
  const partyPosition = market.positions.get(partyId);
  if (partyPosition === undefined) {
    return 0n;
  }
  const value = partyPosition.volume * market.lastPrice;
  const gain = assetAmount(market, value - partyPosition.settledValue);
  const { amountExponent } = market;
  const settledValue = amountExponent < 0 ? partyPosition.settledValue + gain * 10n ** BigInt(-amountExponent) : value;
  market.positions.set(partyId, { ...partyPosition, settledValue });
  return gain;
}

/**
 * Applies a trade to a party's position, as the data node computes it: closed volume realizes the difference to the
 * average entry price, and opened volume moves that price.
 */
export function applyTradeToPosition(market: MarketState, partyId: string, size: bigint, price: bigint): void {
  const { id: marketId } = market.market;
  const old =
    market.positions.get(partyId) ??
    partyPositionOf(create(PositionSchema, { marketId, partyId, ...NO_POSITION }), price);
  const isClosing = old.volume !== 0n && old.volume > 0n !== size > 0n;
  const closed = isClosing ? min(abs(size), abs(old.volume)) * (old.volume > 0n ? 1n : -1n) : 0n;
  const remaining = old.volume - closed;
  const opened = size + closed;
  const volume = remaining + opened;
  const gain = assetAmount(market, (price * PRECISION - old.entryPrice) * closed);
  market.positions.set(partyId, {
    ...old,
    volume,
    entryPrice: volume === 0n ? 0n : (old.entryPrice * remaining + price * PRECISION * opened) / volume,
    realisedPnl: old.realisedPnl + gain,
    settledValue: old.settledValue + size * price,
  });
}

const NO_POSITION = { realisedPnl: "0", unrealisedPnl: "0", averageEntryPrice: "0", lossSocialisationAmount: "0" };

/** Emits a party's position if its message has changed. */
export function emitPosition({ emit, block }: ExecutionContext, market: MarketState, partyId: string): void {
  const partyPosition = market.positions.get(partyId);
  if (partyPosition === undefined) {
    return;
  }
  const { volume, entryPrice, realisedPnl, position: old } = partyPosition;
  const unrealisedPnl = assetAmount(market, (market.lastPrice * PRECISION - entryPrice) * volume);
  const rounded = (value: bigint) => String(divideRounded(value, PRECISION));
  const fields = {
    openVolume: volume, // Fits into 64 bits: orders that could exceed them are rejected.
    realisedPnl: rounded(realisedPnl),
    unrealisedPnl: rounded(unrealisedPnl),
    averageEntryPrice: rounded(entryPrice),
  };
  if (
    old.openVolume !== fields.openVolume ||
    old.realisedPnl !== fields.realisedPnl ||
    old.unrealisedPnl !== fields.unrealisedPnl ||
    old.averageEntryPrice !== fields.averageEntryPrice
  ) {
    const position = { ...old, ...fields, updatedAt: block.time };
    market.positions.set(partyId, { ...partyPosition, position });
    const entryPriceInAsset = rounded(timesPowerOfTen(entryPrice, market.priceExponent));
    emit({ case: "position", value: position, entryPriceInAsset });
  }
}

/**
 * Marks a market to its last price. Losses go from the margin and then the general account to the market's settlement account.
 * Gains go from there to the margin account. No position is closed out, so a party pays at most its balance, and winners share
 * the losses that were collected in proportion to their gains. A remainder below one unit stays in the settlement account.
 * Positions whose profit has changed are emitted.
 */
export function markToMarket(context: ExecutionContext, market: MarketState): void {
  const { asset } = market;
  const settlement = networkAccount(AccountType.SETTLEMENT, asset, market.market.id);
  const gains = [...market.positions.keys()].map((partyId) => ({ partyId, amount: settleToMark(market, partyId) }));
  const losses = gains.filter(({ amount }) => amount < 0n).flatMap((loss) => lossTransfers(context, market, loss));
  const winners = gains.filter(({ amount }) => amount > 0n);
  const won = winners.reduce((sum, { amount }) => sum + amount, 0n);
  const available = losses.reduce((sum, { amount }) => sum + amount, balanceOf(context.state, settlement));
  const wins = winners.map(({ partyId, amount }) => ({
    from: settlement,
    to: hasMarginAccount(context, market, partyId) ? marginAccount(market, partyId) : generalAccount(partyId, asset),
    amount: available >= won ? amount : (amount * available) / won,
    type: TransferType.MTM_WIN,
  }));
  emitLedgerMovements(
    context,
    transferFunds(
      context,
      [...losses, ...wins].filter(({ amount }) => amount > 0n),
    ),
  );
  for (const partyId of [...market.positions.keys()]) {
    emitPosition(context, market, partyId);
  }
}

function lossTransfers(
  context: ExecutionContext,
  market: MarketState,
  loss: { readonly partyId: string; readonly amount: bigint },
): FundsTransfer[] {
  const { partyId } = loss;
  const to = networkAccount(AccountType.SETTLEMENT, market.asset, market.market.id);
  let left = -loss.amount;
  return [marginAccount(market, partyId), generalAccount(partyId, market.asset)].map((from) => {
    const amount = min(left, balanceOf(context.state, from));
    left -= amount;
    return { from, to, amount, type: TransferType.MTM_LOSS };
  });
}
