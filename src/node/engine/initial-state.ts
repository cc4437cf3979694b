import { create } from "@bufbuild/protobuf";
import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import {
  type Account,
  type MarketData,
  MarketDataSchema,
  type Order,
  Order_Status,
  type Position,
} from "../../../gen/vega/vega_pb.js";
import { accountName } from "./collateral.js";
import { type MarketState, type State, trackExpiry } from "./engine-state.js";
import { partyPositionOf } from "./open-positions.js";
import { addToBook, storeOrder } from "./order-book.js";
import { referencesOf } from "./pegged-orders.js";

/** Initial state of an engine, and its settings. */
export interface EngineOptions {
  /** Network parameters by key; none by default. */
  readonly parameters?: ReadonlyMap<string, string>;
  /** Governance tokens by public key, in units of the token's last decimal; none by default. */
  readonly stakes?: ReadonlyMap<string, bigint>;
  readonly markets: readonly Market[];
  /** The settlement assets of the markets. An unknown asset is treated as one without decimals. */
  readonly assets: readonly Asset[];
  /** Latest market data. Fields that the engine does not compute, such as stakes and auctions, keep these values. */
  readonly marketData?: readonly MarketData[];
  /** Price of the last trade, by market. */
  readonly lastPrices: ReadonlyMap<string, string>;
  readonly accounts: readonly Account[];
  readonly positions: readonly Position[];
  /** Active and parked orders, by price-time priority. */
  readonly orders: readonly Order[];
  /** Pending stop orders. */
  readonly stopOrders: readonly StopOrderEvent[];
  /** Initial balance of a party's general account, in units of the asset's last decimal. */
  readonly startingBalance: string;
  /** Maximum number of pending stop orders per party and market. */
  readonly maxStopOrders: number;
  /**
   * Whether the order of a stop order has the stop order's identifier, as specified (2.4), instead of a new one, as on
   * the network. An identifier that an order of the same batch has is not shared. `false` by default.
   */
  readonly keepsStopOrderIds?: boolean;
}

export function initialState(options: EngineOptions): State {
  const markets = new Map(options.markets.map((market) => [market.id, initialMarketState(options, market)]));
  for (const position of options.positions) {
    const market = markets.get(position.marketId);
    market?.positions.set(position.partyId, partyPositionOf(position, market.lastPrice));
  }
  for (const order of options.orders) {
    const market = markets.get(order.marketId);
    if (market !== undefined) {
      (order.status === Order_Status.PARKED ? storeOrder : addToBook)(market, order);
      trackExpiry(market, order.expiresAt);
    }
  }
  for (const { stopOrder, submission } of options.stopOrders) {
    const market = markets.get(stopOrder?.marketId ?? "");
    if (market !== undefined && stopOrder !== undefined && submission !== undefined) {
      market.stopOrders.set(stopOrder.id, {
        ...{ stopOrder, submission, bestPrice: market.lastPrice },
        sharesId: options.keepsStopOrderIds ?? false,
      });
      trackExpiry(market, stopOrder.expiresAt);
    }
  }
  for (const market of markets.values()) {
    market.references = referencesOf(market);
    market.isChanged = false;
  }
  const owners = [
    ...options.accounts.map(({ owner }) => owner),
    ...[...options.positions, ...options.orders].map(({ partyId }) => partyId),
    ...options.stopOrders.map(({ stopOrder }) => stopOrder?.partyId ?? ""),
  ];
  return {
    markets,
    accounts: new Map(options.accounts.map((account) => [accountName(account), account])),
    parties: new Set(owners),
    assets: new Map(options.assets.map((asset) => [asset.id, asset])),
    parameters: new Map(options.parameters),
    scheduledTransfers: new Map(),
    recurringTransfers: new Map(),
    stakes: new Map(options.stakes),
    proposals: new Map(),
    openingAuctions: new Map(),
    dataSources: new Map(),
    profiles: new Map(),
    withdrawals: new Map(),
    block: { height: 0n, hash: "", time: 0n },
  };
}

/** Creates the state of a market without orders. */
export function initialMarketState(
  { assets, lastPrices, marketData = [] }: Pick<EngineOptions, "assets" | "lastPrices" | "marketData">,
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
    positions: new Map(),
    parties: new Set(),
    stopOrders: new Map(),
    lastPrice,
    nextExpiry: undefined,
    references: { bid: 0n, ask: 0n },
    data: known ?? create(MarketDataSchema, { ...NO_DATA, market: market.id }),
    lastChangedHeight: 0n,
    isChanged: false,
    isTraded: false,
    hasNewPrice: false,
  };
}

const NO_DATA = {
  indicativePrice: "0",
  targetStake: "0",
  suppliedStake: "0",
  marketValueProxy: "0",
  marketGrowth: "0",
};

export function settlementAsset({ tradableInstrument }: Market): string {
  const product = tradableInstrument?.instrument?.product;
  switch (product?.case) {
    case "future":
    case "perpetual":
      return product.value.settlementAsset;
    default:
      return "";
  }
}
