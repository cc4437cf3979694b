import { create } from "@bufbuild/protobuf";
import { PartyMarginModeUpdatedSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  MarginLevelsSchema,
  MarginMode,
  type Order,
  Order_Status,
  Order_Type,
  Side,
  TransferType,
} from "../../../gen/vega/vega_pb.js";
import { max, min } from "../../base/bigints.js";
import { epochOf } from "../world/epochs.js";
import {
  balanceOf,
  emitLedgerMovements,
  generalAccount,
  marginAccount,
  openAccount,
  transferFunds,
} from "./collateral.js";
import { type ExecutionContext, isContinuous, type MarketState } from "./engine-state.js";
import { ONE, parseFixedPoint } from "./fixed-point.js";
import { factoredAmount, volumeOf } from "./open-positions.js";
import { trueRemaining } from "./order-book.js";
import { fixedPointOf, riskFactorsOf } from "./risk-factors.js";

/**
 * Opens a party's margin account on a market and emits its margin mode, if the party is new to the market or returns
 * to it (v0.78.0, `core/execution/future/market.go`, validateAccounts).
 */
export function enterMarket(context: ExecutionContext, market: MarketState, partyId: string): void {
  openAccount(context, marginAccount(market, partyId));
  if (!market.parties.has(partyId)) {
    market.parties.add(partyId);
    const mode = { marginMode: MarginMode.CROSS_MARGIN, atEpoch: epochOf(context.block.height) };
    const value = create(PartyMarginModeUpdatedSchema, { marketId: market.market.id, partyId, ...mode });
    context.emit({ case: "partyMarginModeUpdated", value });
  }
}

/** A party's exposure on a market: its position and its potential trades. */
interface Exposure {
  readonly volume: bigint;
  /** Remaining size of its orders, by side. */
  readonly buy: bigint;
  readonly sell: bigint;
  /** Remaining size times price, by side. */
  readonly buyValue: bigint;
  readonly sellValue: bigint;
}

/** Computes a party's exposure. `order`, if set, replaces its version on the book. */
function exposureOf(market: MarketState, partyId: string, order?: Order): Exposure {
  const exposure = { volume: volumeOf(market, partyId), buy: 0n, sell: 0n, buyValue: 0n, sellValue: 0n };
  const add = (each: Order) => {
    const [size, price] = [trueRemaining(each), BigInt(each.price)];
    if (each.side === Side.BUY) {
      exposure.buy += size;
      exposure.buyValue += size * price;
    } else {
      exposure.sell += size;
      exposure.sellValue += size * price;
    }
  };
  for (const each of market.orders.values()) {
    if (each.partyId === partyId && each.id !== order?.id && each.status !== Order_Status.PARKED) {
      add(each);
    }
  }
  if (order !== undefined) {
    add(order);
  }
  return exposure;
}

interface MarginLevelAmounts {
  readonly maintenance: bigint;
  readonly search: bigint;
  readonly initial: bigint;
  readonly release: bigint;
}

/**
 * Computes margin levels (v0.78.0, `core/risk/margins_calculation.go`, calculateMargins): the larger of the potential
 * losses of the long and the short side, at the mark price, or in an auction at the prices of the orders.
 */
function marginLevelsOf(market: MarketState, exposure: Exposure): MarginLevelAmounts {
  const { lastPrice } = market;
  const riskFactors = riskFactorsOf(market.market);
  const linearSlippage = parseFixedPoint(market.market.linearSlippageFactor);
  const isAtMark = isContinuous(market) && lastPrice > 0n;
  const side = (held: bigint, size: bigint, value: bigint, risk: bigint) =>
    held * lastPrice * (linearSlippage + risk) + (isAtMark ? size * lastPrice : value) * risk;
  const { volume, buy, sell, buyValue, sellValue } = exposure;
  const long = volume + buy > 0n ? side(max(volume, 0n), buy, buyValue, riskFactors.long) : 0n;
  const short = volume - sell < 0n ? side(max(-volume, 0n), sell, sellValue, riskFactors.short) : 0n;
  const maintenance = factoredAmount(market, max(long, short));
  const scaling = market.market.tradableInstrument?.marginCalculator?.scalingFactors;
  const scaled = (by = 1) => (maintenance * fixedPointOf(by)) / ONE;
  return {
    maintenance,
    search: scaled(scaling?.searchLevel),
    initial: scaled(scaling?.initialMargin),
    release: scaled(scaling?.collateralRelease),
  };
}

/** Queues margin levels for {@link emitMarginLevels}. */
function queueMarginLevels(
  { block, marginLevels }: ExecutionContext,
  market: MarketState,
  partyId: string,
  levels: MarginLevelAmounts,
): void {
  const value = create(MarginLevelsSchema, {
    maintenanceMargin: String(levels.maintenance),
    searchLevel: String(levels.search),
    initialMargin: String(levels.initial),
    collateralReleaseLevel: String(levels.release),
    partyId,
    marketId: market.market.id,
    asset: market.asset,
    timestamp: block.time,
    orderMargin: "0",
    marginMode: MarginMode.CROSS_MARGIN,
    marginFactor: "0",
  });
  marginLevels.set(`${partyId} ${market.market.id}`, value);
}

/** Emits the queued margin levels. The network does so at the end of each instruction. */
export function emitMarginLevels({ emit, marginLevels }: ExecutionContext): void {
  for (const value of marginLevels.values()) {
    emit({ case: "marginLevels", value });
  }
  marginLevels.clear();
}

/**
 * Returns whether an order only reduces the party's position, and needs no margin (v0.78.0,
 * `core/positions/market_position.go`, OrderReducesExposure).
 */
export function reducesExposure(market: MarketState, order: Order): boolean {
  const { volume, buy, sell } = exposureOf(market, order.partyId, order);
  if (volume === 0n || order.peggedOrder !== undefined || (order.side === Side.SELL) !== volume > 0n) {
    return false;
  }
  const size = order.type === Order_Type.MARKET ? trueRemaining(order) : order.side === Side.SELL ? sell : buy;
  return size <= max(volume, -volume);
}

/**
 * Collects the margin of an order from the party's general account (v0.78.0, `core/risk/engine.go`,
 * UpdateMarginOnNewOrder).
 */
export function collectOrderMargin(context: ExecutionContext, market: MarketState, order: Order): boolean {
  const { partyId } = order;
  const levels = marginLevelsOf(market, exposureOf(market, partyId, order));
  const margin = marginAccount(market, partyId);
  const general = generalAccount(partyId, market.asset);
  const held = balanceOf(context.state, margin);
  if (held + balanceOf(context.state, general) < levels.initial) {
    return false;
  }
  queueMarginLevels(context, market, partyId, levels);
  if (held < levels.initial) {
    const amount = levels.initial - held;
    emitLedgerMovements(
      context,
      transferFunds(context, [{ from: general, to: margin, amount, type: TransferType.MARGIN_LOW }]),
    );
  }
  return true;
}

/**
 * Releases the margin of a party that has neither a position nor orders on a market (v0.78.0,
 * `core/execution/future/market.go`, releaseExcessMargin). A party with unsettled trades keeps it until they are
 * settled.
 */
export function releaseMargin(context: ExecutionContext, market: MarketState, partyId: string): void {
  const isUnsettled = market.isTraded && market.positions.has(partyId);
  if (!market.parties.has(partyId) || isUnsettled || isExposed(market, partyId)) {
    return;
  }
  const from = marginAccount(market, partyId);
  const amount = balanceOf(context.state, from);
  if (amount > 0n) {
    const to = generalAccount(partyId, market.asset);
    emitLedgerMovements(context, transferFunds(context, [{ from, to, amount, type: TransferType.MARGIN_HIGH }]));
  }
  queueMarginLevels(context, market, partyId, { maintenance: 0n, search: 0n, initial: 0n, release: 0n });
  market.parties.delete(partyId);
}

/** Returns whether a party has a position or active orders on a market. */
export function isExposed(market: MarketState, partyId: string): boolean {
  const { volume, buy, sell } = exposureOf(market, partyId);
  return volume !== 0n || buy !== 0n || sell !== 0n;
}

/**
 * Brings a party's margin on a market back to the initial margin (v0.78.0, `core/risk/engine.go`, UpdateMarginsOnSettlement).
 * Above the release level, the surplus goes to the general account, except in an auction. Below the search level, the shortfall
 * comes from it, up to its balance. Positions are not closed out.
 */
export function recheckMargin(context: ExecutionContext, market: MarketState, partyId: string): void {
  if (!isExposed(market, partyId)) {
    return;
  }
  const from = marginAccount(market, partyId);
  const to = generalAccount(partyId, market.asset);
  const held = balanceOf(context.state, from);
  const levels = marginLevelsOf(market, exposureOf(market, partyId));
  queueMarginLevels(context, market, partyId, levels);
  if (held > levels.release && isContinuous(market)) {
    const amount = held - levels.initial;
    emitLedgerMovements(context, transferFunds(context, [{ from, to, amount, type: TransferType.MARGIN_HIGH }]));
  } else if (held < levels.search) {
    const amount = min(levels.initial - held, balanceOf(context.state, to));
    const move = { from: to, to: from, amount, type: TransferType.MARGIN_LOW };
    emitLedgerMovements(context, amount > 0n ? transferFunds(context, [move]) : []);
  }
}
