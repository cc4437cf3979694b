import type { DescService } from "@bufbuild/protobuf";
import type { Client as ConnectClient, CallOptions as ConnectOptions } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { CallErrorMapper } from "../../base/errors/call-errors.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { type CallOptions, parseCallOptions, toConnectOptions } from "../../base/input/call-options.js";
import { setBounded } from "../../base/signal/collections.js";
import type { Paging } from "../../data/listing/paging.js";
import type { ServiceClient } from "../../wire/transport/service-client.js";
import { loadDefinitions } from "../live/load-definitions.js";
import { formatDecimal, formatField, MAX_DECIMALS, parseByRules, type UnitKind, type Units } from "./decimal.js";
import { createDecimalCommands, type DecimalCommands } from "./decimal-commands.js";
import { FIELD_UNITS, type FieldUnits, type KnownDecimals, kindOf, type Owners } from "./field-units.js";
import { createRecordNames } from "./record-names.js";

/** Numbers with a fixed number of decimals, which the network counts in units of the last decimal place. */
export interface DecimalUnits<U extends bigint | string, Kind extends UnitKind> {
  /** The number of decimal places. It can be negative for sizes: with -2, the units are hundreds. */
  readonly decimals: number;
  /**
   * Converts a decimal number to units, and never rounds.
   *
   * @param text the number, such as `1.2345`
   * @returns the units, in the form of the fields of commands
   * @throws {@link RequestError} if the number would have to be rounded; the error contains the nearest valid numbers
   */
  parse(text: string): U;
  /**
   * Converts units to a decimal number.
   *
   * @param units the units, as the network sends them or a listing returns them
   * @returns the number, without trailing zeros
   * @throws {@link RequestError} if `units` is not a whole number
   */
  format(units: bigint | string | Units<Kind>): string;
}

/** The prices of a market. */
export interface PriceUnits extends DecimalUnits<string, "price"> {
  /** Prices of orders must be multiples of this decimal number. `parse` rejects others. */
  readonly tickSize: string;
}

/** The amounts of an asset. They can be negative. */
export interface AssetUnits extends DecimalUnits<string, "asset"> {
  readonly assetId: string;
}

/** The types of records of one market whose numbers {@link MarketUnits.decimalsOf} converts. */
const MARKET_RECORDS = [
  ...(["vega.Order", "vega.Trade", "vega.MarketData"] as const),
  ...(["vega.PriceLevel", "vega.Position", "vega.MarginLevels"] as const),
] as const;

/** The types of records whose numbers {@link MarketUnits.decimalsOf} converts. */
export type DecimalRecordType = (typeof MARKET_RECORDS)[number];

/** The numbers of a record as decimal numbers, by field. */
export type DecimalsOf<T extends DecimalRecordType> = {
  readonly [F in keyof FieldUnits[T] as FieldUnits[T][F] extends `${string}?` ? never : F]: string;
} & {
  readonly [F in keyof FieldUnits[T] as FieldUnits[T][F] extends `${string}?` ? F : never]?: string;
};

/** The units in which a market counts prices, sizes and amounts. */
export interface MarketUnits extends DecimalCommands {
  readonly marketId: string;
  readonly price: PriceUnits;
  readonly size: DecimalUnits<bigint, "size">;
  /** The asset of fees, margins, profits and losses: the settlement asset, or the quote asset of a spot market. */
  readonly asset: AssetUnits;
  /** The base asset of a spot market; undefined for other markets. */
  readonly baseAsset: AssetUnits | undefined;
  /**
   * Converts the numbers of a record of this market: an order, a trade, a position, a price level, market data or margin
   * levels.
   *
   * @param record the record, as the node sent it
   * @returns the decimal numbers by field; a number that the node omitted stays an empty string
   * @throws {@link RequestError} if the record belongs to another market or has another type, or a number is not a whole number
   *
   * @example
   * for await (const { node } of client.records(TradingDataService.method.listOrders, { filter: { marketIds: [marketId] } })) {
   *   console.log(node.id, units.decimalsOf(node).price);
   * }
   */
  decimalsOf<T extends DecimalRecordType>(record: { readonly $typeName: T }): DecimalsOf<T>;
}

/** The counting units of a node's markets. */
export interface UnitsOfMarkets {
  /**
   * Loads a market's units of prices, sizes and amounts, which convert the decimal numbers of commands and results.
   *
   * The decimals of a market and of an asset never change. Governance can change the tick size: load the units again then.
   *
   * @param market the market: its code, its identifier, or at least 4 digits of the start of it. Without all 64 digits, the
   *   node's markets are listed
   * @param options a signal, headers and a time limit for each call
   * @returns the market's units; using them makes no more requests
   * @throws {@link RequestError} if no or several markets have the name
   * @throws {@link NodeError} if the node has no such market
   * @throws {@link ProtocolError} if the node's response lacks the market's product or asset, or has impossible
   *   decimals or an impossible tick size
   *
   * @example
   * const { price, size, asset } = await client.marketUnits("BTCUSD.PERP");
   * console.log(price.format("123450"), price.parse("1.2345"), size.decimals, asset.format(1000n));
   */
  marketUnits(market: string, options?: CallOptions): Promise<MarketUnits>;
}

/** The decimals of markets and assets that were loaded. They never change. */
export interface LoadedDecimals {
  /** Loads the decimals of markets and assets that were not loaded before. */
  load(owners: Owners, options: CallOptions): Promise<KnownDecimals>;
}

/** The maximum number of markets, and of assets, whose decimals are stored. */
const MAX_LOADED = 10_000;

export function createLoadedDecimals(service: MarketService): LoadedDecimals {
  const markets = new Map<string, MarketUnits>();
  const assets = new Map<string, AssetUnits>();
  const known: KnownDecimals = { market: (id) => markets.get(id), asset: (id) => assets.get(id) };
  return {
    async load(owners, options) {
      const callOptions = toConnectOptions(options);
      for (const id of owners.assets) {
        if (!assets.has(id)) {
          setBounded(assets, id, await loadAssetUnits(service, id, callOptions), MAX_LOADED);
        }
      }
      for (const id of owners.markets) {
        if (!markets.has(id)) {
          setBounded(markets, id, await loadMarketUnits(service, id, callOptions), MAX_LOADED);
        }
      }
      return known;
    },
  };
}

type MarketService = Pick<ConnectClient<typeof TradingDataService>, "getAsset" | "getMarket">;

export function createUnits(
  service: <S extends DescService>(service: S) => ServiceClient<S>,
  records: Paging["records"],
  failing: CallErrorMapper,
): UnitsOfMarkets {
  return {
    async marketUnits(market, options) {
      const callOptions = parseCallOptions(options);
      const marketId = await createRecordNames(records, { ...options }).market(market);
      const { TradingDataService } = await loadDefinitions();
      const { getMarket } = TradingDataService.method;
      return loadMarketUnits(service(TradingDataService), marketId, callOptions).catch(
        failing(getMarket, options?.signal),
      );
    },
  };
}

async function loadMarketUnits(
  service: MarketService,
  marketId: string,
  options: ConnectOptions,
): Promise<MarketUnits> {
  const { market } = await service.getMarket({ marketId }, options);
  if (market === undefined) {
    throw invalidAnswer(`market ${marketId} is missing in the response`);
  }
  const { asset: assetId, baseAsset: baseAssetId } = assetsOf(market, marketId);
  const [asset, baseAsset] = await Promise.all([
    loadAssetUnits(service, assetId, options),
    baseAssetId === undefined ? undefined : loadAssetUnits(service, baseAssetId, options),
  ]);
  const owner = `market ${marketId}`;
  const { priceDecimals, sizeDecimals } = placesOf(market, owner);
  const tickSize = checkTickSize(market.tickSize, owner);
  const price: PriceUnits = {
    ...unitsOf(priceDecimals, owner, String, { option: "price", tick: tickSize, isSigned: false }),
    tickSize: formatDecimal(tickSize, priceDecimals),
  };
  const size = unitsOf(sizeDecimals, owner, (units) => units, { option: "size" });
  return {
    marketId,
    price,
    size,
    asset,
    baseAsset,
    decimalsOf: (record) => decimalsOf(record, { marketId, price, size, asset }),
    ...createDecimalCommands({ marketId, priceDecimals, sizeDecimals, tickSize }),
  };
}

function placesOf({ decimalPlaces, positionDecimalPlaces }: Market, owner: string) {
  return {
    priceDecimals: checkDecimals(decimalPlaces, 0, `the prices of ${owner}`),
    sizeDecimals: checkDecimals(positionDecimalPlaces, -MAX_DECIMALS, `the sizes of ${owner}`),
  };
}

/**
 * Returns the decimals of the prices and sizes of a market, which its message contains.
 *
 * @throws {@link ProtocolError} if they are impossible
 */
export function decimalsOfMarket(market: Market): KnownDecimals {
  const { priceDecimals, sizeDecimals } = placesOf(market, `market ${market.id}`);
  const own = { price: { decimals: priceDecimals }, size: { decimals: sizeDecimals } };
  return { market: (marketId) => (marketId === market.id ? own : undefined), asset: () => undefined };
}

async function loadAssetUnits(service: MarketService, assetId: string, options: ConnectOptions): Promise<AssetUnits> {
  const { asset } = await service.getAsset({ assetId }, options);
  const decimals = checkDecimals(asset?.details?.decimals, 0, `asset ${assetId}`);
  return { assetId, ...unitsOf(decimals, `asset ${assetId}`, String) };
}

function unitsOf<U extends bigint | string, Kind extends UnitKind>(
  decimals: number,
  owner: string,
  fromUnits: (units: bigint) => U,
  rules: { readonly option?: string; readonly tick?: bigint; readonly isSigned?: boolean } = {},
): DecimalUnits<U, Kind> {
  const parseRules = { option: "amount", owner, isSigned: true, ...rules };
  return {
    decimals,
    parse: (text) => fromUnits(parseByRules(text, decimals, parseRules)),
    format: (units) => formatDecimal(units, decimals),
  };
}

function decimalsOf<T extends DecimalRecordType>(
  record: { readonly $typeName: T; readonly marketId?: unknown; readonly market?: unknown },
  { marketId, ...units }: Pick<MarketUnits, "asset" | "marketId" | "price" | "size">,
): DecimalsOf<T> {
  if (!MARKET_RECORDS.includes(record.$typeName)) {
    throw new RequestError(`records of type ${quoted(String(record.$typeName))} have no decimals`, {
      advice: `Use a message of one of these types: ${MARKET_RECORDS.join(", ")}.`,
    });
  }
  const owner = record.marketId ?? record.market;
  if (owner !== undefined && owner !== marketId) {
    throw new RequestError(`the record belongs to market ${quoted(String(owner))}, not to ${marketId}`, {
      advice: "Load the units of the record's market: markets have different decimals.",
    });
  }
  const numbers = Object.entries(FIELD_UNITS[record.$typeName]).flatMap(([field, of]) => {
    const value: unknown = Reflect.get(record, field);
    const text = value === "" ? "" : formatField(field, value, units[kindOf(of)].decimals);
    return text === "" && of.endsWith("?") ? [] : [[field, text]];
  });
  return Object.fromEntries(numbers);
}

function assetsOf({ tradableInstrument }: Market, marketId: string): { asset: string; baseAsset: string | undefined } {
  const product = tradableInstrument?.instrument?.product;
  switch (product?.case) {
    case "future":
    case "perpetual":
      return { asset: product.value.settlementAsset, baseAsset: undefined };
    case "spot":
      return { asset: product.value.quoteAsset, baseAsset: product.value.baseAsset };
    default:
      throw invalidAnswer(`market ${marketId} has a product that this release does not know`);
  }
}

function checkDecimals(decimals: bigint | undefined, min: number, owner: string): number {
  if (decimals === undefined || decimals < min || decimals > MAX_DECIMALS) {
    throw invalidAnswer(`${owner} must have ${min} to ${MAX_DECIMALS} decimals (got ${decimals ?? "none"})`);
  }
  return Number(decimals);
}

/** Without a tick size, it is 1 (v0.78.0, `MarketFromProto` in core/types/market.go). */
function checkTickSize(tickSize: string, owner: string): bigint {
  if (tickSize === "") {
    return 1n;
  }
  if (!/^[1-9]\d{0,77}$/.test(tickSize)) {
    throw invalidAnswer(`the tick size of ${owner} must be a positive whole number (got ${quoted(tickSize)})`);
  }
  return BigInt(tickSize);
}

function invalidAnswer(summary: string): ProtocolError {
  return new ProtocolError(summary, { advice: "Use another node, and report this to the operator of the node." });
}
