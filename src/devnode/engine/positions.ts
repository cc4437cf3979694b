import { create } from "@bufbuild/protobuf";
import { type Position, PositionSchema } from "../../../gen/vega/vega_pb.js";
import { divideRounded, divideUp, magnitude, parseDecimal, smaller, timesPowerOfTen } from "./decimal.js";
import { FACTOR_DECIMALS } from "./risk-factors.js";
import { type Holding, type MarketState, PRECISION, type Work } from "./state.js";

const PRECISION_DECIMALS = String(PRECISION).length - 1;

/** Make a holding from a position. Its gains and losses count as settled up to the last price, or else that of its entry. */
export function holdingOf(position: Position, lastPrice: bigint): Holding {
  const entryPrice = parseDecimal(position.averageEntryPrice, PRECISION_DECIMALS);
  return {
    position,
    volume: position.openVolume,
    entryPrice,
    realisedPnl: parseDecimal(position.realisedPnl, PRECISION_DECIMALS),
    settledValue: position.openVolume * (lastPrice === 0n ? entryPrice / PRECISION : lastPrice),
  };
}

/** The volume that a party holds on a market; below 0 where it is short. */
export function volumeOf(market: MarketState, partyId: string): bigint {
  return market.holdings.get(partyId)?.volume ?? 0n;
}

/** An amount of a price times a volume on a market, in units of the asset's last decimal, rounded down. */
export function amountOf(market: MarketState, value: bigint): bigint {
  return timesPowerOfTen(value, market.amountExponent);
}

/**
 * Computes a share of a price times a volume on a market.
 *
 * @param market the market
 * @param value the price times the volume, times a factor as a whole number of {@link FACTOR_DECIMALS} decimals; 0 or above
 * @returns the amount in units of the asset's last decimal, rounded up
 */
export function factoredAmount(market: MarketState, value: bigint): bigint {
  const exponent = market.amountExponent - FACTOR_DECIMALS;
  return exponent < 0 ? divideUp(value, 10n ** BigInt(-exponent)) : value * 10n ** BigInt(exponent);
}

/**
 * Settle what a party gained or lost since the last time, in whole units of the asset. What is less than one is left for
 * the next time.
 *
 * @param market the market, whose holdings change
 * @param partyId the party
 * @returns the gain, rounded down; below 0 for a loss
 */
export function settleGain(market: MarketState, partyId: string): bigint {
  const holding = market.holdings.get(partyId);
  if (holding === undefined) {
    return 0n;
  }
  const value = holding.volume * market.lastPrice;
  const gain = amountOf(market, value - holding.settledValue);
  const { amountExponent } = market;
  const settledValue = amountExponent < 0 ? holding.settledValue + gain * 10n ** BigInt(-amountExponent) : value;
  market.holdings.set(partyId, { ...holding, settledValue });
  return gain;
}

/**
 * Change a party's position by a trade, as the data node computes it: what closes volume realises the difference to the
 * average entry price, what opens volume moves that price.
 *
 * @param market the market, whose holdings change
 * @param partyId the party
 * @param size what it bought; below 0 where it sold
 * @param price the trade's price
 */
export function tradePosition(market: MarketState, partyId: string, size: bigint, price: bigint): void {
  const { id: marketId } = market.market;
  const old =
    market.holdings.get(partyId) ?? holdingOf(create(PositionSchema, { marketId, partyId, ...NOTHING }), price);
  const isClosing = old.volume !== 0n && old.volume > 0n !== size > 0n;
  const closed = isClosing ? smaller(magnitude(size), magnitude(old.volume)) * (old.volume > 0n ? 1n : -1n) : 0n;
  const kept = old.volume - closed;
  const opened = size + closed;
  const volume = kept + opened;
  const gain = amountOf(market, (price * PRECISION - old.entryPrice) * closed);
  market.holdings.set(partyId, {
    ...old,
    volume,
    entryPrice: volume === 0n ? 0n : (old.entryPrice * kept + price * PRECISION * opened) / volume,
    realisedPnl: old.realisedPnl + gain,
    settledValue: old.settledValue + size * price,
  });
}

const NOTHING = { realisedPnl: "0", unrealisedPnl: "0", averageEntryPrice: "0", lossSocialisationAmount: "0" };

/**
 * Tell of a party's position, if its message changes.
 *
 * @param work the block
 * @param market the market, whose last price gives the profit that is not realised
 * @param partyId the party
 */
export function tellPosition({ emit, block }: Work, market: MarketState, partyId: string): void {
  const holding = market.holdings.get(partyId);
  if (holding === undefined) {
    return;
  }
  const { volume, entryPrice, realisedPnl, position: old } = holding;
  const unrealisedPnl = amountOf(market, (market.lastPrice * PRECISION - entryPrice) * volume);
  const rounded = (value: bigint) => String(divideRounded(value, PRECISION));
  const told = {
    openVolume: volume, // It fits: orders are refused by which it could pass 64 bits.
    realisedPnl: rounded(realisedPnl),
    unrealisedPnl: rounded(unrealisedPnl),
    averageEntryPrice: rounded(entryPrice),
  };
  if (
    old.openVolume !== told.openVolume ||
    old.realisedPnl !== told.realisedPnl ||
    old.unrealisedPnl !== told.unrealisedPnl ||
    old.averageEntryPrice !== told.averageEntryPrice
  ) {
    const position = { ...old, ...told, updatedAt: block.time };
    market.holdings.set(partyId, { ...holding, position });
    emit({ case: "position", value: position });
  }
}
