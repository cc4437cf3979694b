import { create } from "@bufbuild/protobuf";
import { PartyMarginModeUpdatedSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  AccountType,
  MarginLevelsSchema,
  MarginMode,
  type Order,
  Order_Status,
  Order_Type,
  Side,
  TransferType,
} from "../../../gen/vega/vega_pb.js";
import { epochOf } from "../data/epochs.js";
import { openSize } from "./book.js";
import { larger, parseDecimal, smaller } from "./decimal.js";
import { emitMovements, moveFunds, openAccount } from "./funds.js";
import { type AccountKey, accountName } from "./identifiers.js";
import { balanceOf, generalAccount } from "./ledger.js";
import { factoredAmount, volumeOf } from "./positions.js";
import { FACTOR_DECIMALS, factor, riskFactorsOf } from "./risk-factors.js";
import { isContinuous, type MarketState, type Work } from "./state.js";

const ONE = 10n ** BigInt(FACTOR_DECIMALS);

/** The account that holds a party's margin on a market. */
export function marginAccount(market: MarketState, owner: string): AccountKey {
  return { owner, asset: market.asset, marketId: market.market.id, type: AccountType.MARGIN };
}

/** Whether a party's margin on a market is held in an account of its own: that of parties that have submitted orders is. */
export function hasMarginAccount({ state }: Work, market: MarketState, partyId: string): boolean {
  return state.accounts.has(accountName(marginAccount(market, partyId)));
}

/**
 * Opens a party's margin account on a market, and emits its margin mode where it is new to the market, or comes back to it
 * (v0.78.0, `core/execution/future/market.go`, validateAccounts).
 */
export function enterMarket(work: Work, market: MarketState, partyId: string): void {
  openAccount(work, marginAccount(market, partyId));
  if (!market.parties.has(partyId)) {
    market.parties.add(partyId);
    const mode = { marginMode: MarginMode.CROSS_MARGIN, atEpoch: epochOf(work.block.height) };
    const value = create(PartyMarginModeUpdatedSchema, { marketId: market.market.id, partyId, ...mode });
    work.emit({ case: "partyMarginModeUpdated", value });
  }
}

/** What a party holds on a market, and what its orders could make of it. */
interface Exposure {
  readonly volume: bigint;
  /** The open size of its orders of each side. */
  readonly buy: bigint;
  readonly sell: bigint;
  /** The same, each times its order's price. */
  readonly buyValue: bigint;
  readonly sellValue: bigint;
}

/** A party's exposure on a market; with an order, it counts as it is and not as it is on the book. */
function exposureOf(market: MarketState, partyId: string, order?: Order): Exposure {
  let [buy, sell, buyValue, sellValue] = [0n, 0n, 0n, 0n];
  const add = (each: Order) => {
    const [size, price] = [openSize(each), BigInt(each.price)];
    if (each.side === Side.BUY) {
      buy += size;
      buyValue += size * price;
    } else {
      sell += size;
      sellValue += size * price;
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
  return { volume: volumeOf(market, partyId), buy, sell, buyValue, sellValue };
}

interface Levels {
  readonly maintenance: bigint;
  readonly search: bigint;
  readonly initial: bigint;
  readonly release: bigint;
}

/**
 * Compute margin levels (v0.78.0, `core/risk/margins_calculation.go`, calculateMargins): the larger of what the long and the
 * short side could lose, at the mark price, or in an auction at the prices of the orders.
 */
function levelsOf(market: MarketState, exposure: Exposure): Levels {
  const { lastPrice } = market;
  const riskFactors = riskFactorsOf(market.market);
  const linearSlippage = parseDecimal(market.market.linearSlippageFactor, FACTOR_DECIMALS);
  const isAtMark = isContinuous(market) && lastPrice > 0n;
  const side = (held: bigint, size: bigint, value: bigint, risk: bigint) =>
    held * lastPrice * (linearSlippage + risk) + (isAtMark ? size * lastPrice : value) * risk;
  const { volume, buy, sell, buyValue, sellValue } = exposure;
  const long = volume + buy > 0n ? side(larger(volume, 0n), buy, buyValue, riskFactors.long) : 0n;
  const short = volume - sell < 0n ? side(larger(-volume, 0n), sell, sellValue, riskFactors.short) : 0n;
  const maintenance = factoredAmount(market, larger(long, short));
  const scaling = market.market.tradableInstrument?.marginCalculator?.scalingFactors;
  const scaled = (by = 1) => (maintenance * factor(by)) / ONE;
  return {
    maintenance,
    search: scaled(scaling?.searchLevel),
    initial: scaled(scaling?.initialMargin),
    release: scaled(scaling?.collateralRelease),
  };
}

/** Keep margin levels until {@link emitMarginLevels}. */
function noteLevels({ block, marginLevels }: Work, market: MarketState, partyId: string, levels: Levels): void {
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

/** Emit the margin levels that changed, which the network does at the end of each instruction. */
export function emitMarginLevels({ emit, marginLevels }: Work): void {
  for (const value of marginLevels.values()) {
    emit({ case: "marginLevels", value });
  }
  marginLevels.clear();
}

/**
 * Tells whether an order closes a part of the position at most, and needs no margin (v0.78.0,
 * `core/positions/market_position.go`, OrderReducesExposure).
 *
 * @param market the market
 * @param order the order, which is not on the book
 */
export function reducesExposure(market: MarketState, order: Order): boolean {
  const { volume, buy, sell } = exposureOf(market, order.partyId, order);
  if (volume === 0n || order.peggedOrder !== undefined || (order.side === Side.SELL) !== volume > 0n) {
    return false;
  }
  const size = order.type === Order_Type.MARKET ? openSize(order) : order.side === Side.SELL ? sell : buy;
  return size <= larger(volume, -volume);
}

/**
 * Takes the margin of an order from the party's general account (v0.78.0, `core/risk/engine.go`, UpdateMarginOnNewOrder).
 *
 * @param work the block
 * @param market the market
 * @param order the order, new or as it is amended
 * @returns `false` where the party has not enough for the initial margin, and nothing was done
 */
export function coverOrder(work: Work, market: MarketState, order: Order): boolean {
  const { partyId } = order;
  const levels = levelsOf(market, exposureOf(market, partyId, order));
  const margin = marginAccount(market, partyId);
  const general = generalAccount(partyId, market.asset);
  const held = balanceOf(work.state, margin);
  if (held + balanceOf(work.state, general) < levels.initial) {
    return false;
  }
  noteLevels(work, market, partyId, levels);
  if (held < levels.initial) {
    const amount = levels.initial - held;
    emitMovements(work, moveFunds(work, [{ from: general, to: margin, amount, type: TransferType.MARGIN_LOW }]));
  }
  return true;
}

/**
 * Gives a party that has neither a position nor orders on a market its margin back (v0.78.0,
 * `core/execution/future/market.go`, releaseExcessMargin). One that has traded waits until its trades are settled.
 *
 * @param work the block
 * @param market the market
 * @param partyId the party
 */
export function releaseMargin(work: Work, market: MarketState, partyId: string): void {
  const { volume, buy, sell } = exposureOf(market, partyId);
  const isUnsettled = market.isTraded && market.holdings.has(partyId);
  if (!market.parties.has(partyId) || isUnsettled || volume !== 0n || buy !== 0n || sell !== 0n) {
    return;
  }
  const from = marginAccount(market, partyId);
  const amount = balanceOf(work.state, from);
  if (amount > 0n) {
    const to = generalAccount(partyId, market.asset);
    emitMovements(work, moveFunds(work, [{ from, to, amount, type: TransferType.MARGIN_HIGH }]));
  }
  noteLevels(work, market, partyId, { maintenance: 0n, search: 0n, initial: 0n, release: 0n });
  market.parties.delete(partyId);
}

/**
 * Brings the margins of a market's parties back to the initial margin: what is above the release level goes to the general
 * account, and what lacks of the search level comes from it, as far as it goes. Nobody is closed out.
 *
 * @param work the block
 * @param market the market, which was marked to its last price
 */
export function recheckMargins(work: Work, market: MarketState): void {
  for (const partyId of [...market.parties]) {
    const exposure = exposureOf(market, partyId);
    const from = marginAccount(market, partyId);
    const to = generalAccount(partyId, market.asset);
    const held = balanceOf(work.state, from);
    const levels = levelsOf(market, exposure);
    if (exposure.volume === 0n && exposure.buy === 0n && exposure.sell === 0n) {
      continue;
    }
    noteLevels(work, market, partyId, levels);
    if (held > levels.release) {
      const amount = held - levels.initial;
      emitMovements(work, moveFunds(work, [{ from, to, amount, type: TransferType.MARGIN_HIGH }]));
    } else if (held < levels.search) {
      const amount = smaller(levels.initial - held, balanceOf(work.state, to));
      const move = { from: to, to: from, amount, type: TransferType.MARGIN_LOW };
      emitMovements(work, amount > 0n ? moveFunds(work, [move]) : []);
    }
  }
}
