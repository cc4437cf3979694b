import { create } from "@bufbuild/protobuf";
import type { Market } from "../../../gen/vega/markets_pb.js";
import { MarketDataSchema, Order_Status } from "../../../gen/vega/vega_pb.js";
import { keepOrder, restOrder } from "./book.js";
import type { EngineStart } from "./engine.js";
import { accountName } from "./identifiers.js";
import { referencesOf } from "./pegs.js";
import { holdingOf } from "./positions.js";
import { createRegisters } from "./registers.js";
import { type MarketState, noteExpiry, type State } from "./state.js";

/**
 * Make what the engine knows when it begins.
 *
 * @param start how things stand; what belongs to a market that is not there is left out
 * @returns the state
 */
export function startState(start: EngineStart): State {
  const markets = new Map(start.markets.map((market) => [market.id, marketState(start, market)]));
  for (const position of start.positions) {
    const market = markets.get(position.marketId);
    market?.holdings.set(position.partyId, holdingOf(position, market.lastPrice));
  }
  for (const order of start.orders) {
    const market = markets.get(order.marketId);
    if (market !== undefined) {
      (order.status === Order_Status.PARKED ? keepOrder : restOrder)(market, order);
      noteExpiry(market, order.expiresAt);
    }
  }
  for (const { stopOrder, submission } of start.stopOrders) {
    const market = markets.get(stopOrder?.marketId ?? "");
    if (market !== undefined && stopOrder !== undefined && submission !== undefined) {
      market.stops.set(stopOrder.id, { stopOrder, submission, best: market.lastPrice });
      noteExpiry(market, stopOrder.expiresAt);
    }
  }
  for (const market of markets.values()) {
    market.references = referencesOf(market);
    market.isChanged = false;
  }
  const owners = [
    ...start.accounts.map(({ owner }) => owner),
    ...[...start.positions, ...start.orders].map(({ partyId }) => partyId),
    ...start.stopOrders.map(({ stopOrder }) => stopOrder?.partyId ?? ""),
  ];
  return {
    markets,
    accounts: new Map(start.accounts.map((account) => [accountName(account), account])),
    parties: new Set(owners),
    assets: new Map(start.assets.map((asset) => [asset.id, asset])),
    validators: new Set(start.validators),
    registers: createRegisters(start.parameters, start.stakes),
    block: { height: 0n, hash: "", time: 0n },
  };
}

/**
 * Make what the engine knows of a market without orders.
 *
 * @param start the assets, last prices and data that are known
 * @param market the market
 * @returns its state
 */
export function marketState(
  { assets, lastPrices, marketData = [] }: Pick<EngineStart, "assets" | "lastPrices" | "marketData">,
  market: Market,
): MarketState {
  const asset = settlementAsset(market);
  const assetDecimals = assets.find(({ id }) => id === asset)?.details?.decimals ?? 0n;
  const priceExponent = Number(assetDecimals - market.decimalPlaces);
  const lastPrice = BigInt(lastPrices.get(market.id) ?? "0");
  const known = marketData.find((data) => data.market === market.id);
  return {
    market,
    asset,
    priceExponent,
    amountExponent: priceExponent - Number(market.positionDecimalPlaces),
    tick: /^[1-9]\d*$/.test(market.tickSize) ? BigInt(market.tickSize) : 1n,
    buy: [],
    sell: [],
    orders: new Map(),
    pegged: new Set(),
    holdings: new Map(),
    parties: new Set(),
    stops: new Map(),
    lastPrice,
    nextExpiry: undefined,
    references: { bid: 0n, ask: 0n },
    data: known ?? create(MarketDataSchema, { ...NO_DATA, market: market.id }),
    changedAt: 0n,
    isChanged: false,
    isTraded: false,
    isWatched: false,
  };
}

const NO_DATA = {
  indicativePrice: "0",
  targetStake: "0",
  suppliedStake: "0",
  marketValueProxy: "0",
  marketGrowth: "0",
};

/** The asset that a market settles in; a spot market, which is traded here like a future, in the one that it quotes. */
export function settlementAsset({ tradableInstrument }: Market): string {
  const product = tradableInstrument?.instrument?.product;
  switch (product?.case) {
    case "future":
    case "perpetual":
      return product.value.settlementAsset;
    case "spot":
      return product.value.quoteAsset;
    default:
      return "";
  }
}
