import type { DescService } from "@bufbuild/protobuf";
import type { Client as ConnectClient, CallOptions as ConnectOptions } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { CallErrorMapper } from "../../base/errors/call-errors.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { type CallOptions, parseCallOptions } from "../../base/input/call-options.js";
import { requireIdentifier } from "../live/events-request.js";
import { loadDefinitions } from "../live/load-definitions.js";
import { formatDecimal, formatField, MAX_DECIMALS, parseByRules } from "./decimal.js";
import { createDecimalCommands, type DecimalCommands } from "./decimal-commands.js";

/** Numbers with a fixed number of decimals, which the network counts in units of the last decimal place. */
export interface DecimalUnits<U extends bigint | string> {
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
   * @param units the units, as the network sends them
   * @returns the number, without trailing zeros
   * @throws {@link RequestError} if `units` is not a whole number
   */
  format(units: bigint | string): string;
}

/** The prices of a market. */
export interface PriceUnits extends DecimalUnits<string> {
  /** Prices of orders must be multiples of this decimal number. `parse` rejects others. */
  readonly tickSize: string;
}

/** The amounts of an asset. They can be negative. */
export interface AssetUnits extends DecimalUnits<string> {
  readonly assetId: string;
}

/** The fields of a message that are decimal numbers, and the unit of each. */
const DECIMAL_FIELDS = {
  "vega.Order": { price: "price", size: "size", remaining: "size" },
  "vega.Trade": { price: "price", size: "size" },
  "vega.MarketData": {
    ...{ markPrice: "price", lastTradedPrice: "price", midPrice: "price", staticMidPrice: "price" },
    ...{ bestBidPrice: "price", bestBidVolume: "size", bestOfferPrice: "price", bestOfferVolume: "size" },
    ...{ bestStaticBidPrice: "price", bestStaticBidVolume: "size" },
    ...{ bestStaticOfferPrice: "price", bestStaticOfferVolume: "size" },
    ...{ indicativePrice: "price", indicativeVolume: "size", openInterest: "size" },
  },
  "vega.PriceLevel": { price: "price", volume: "size" },
  // Profit and loss are sums of the settlement asset, whatever the comment of the network's definition says (v0.78.0,
  // `mtm` in datanode/entities/position.go multiplies by `AverageEntryPrice`, which has the asset's decimals).
  "vega.Position": {
    ...{ openVolume: "size", averageEntryPrice: "price" },
    ...{ realisedPnl: "asset", unrealisedPnl: "asset", lossSocialisationAmount: "asset" },
  },
  "vega.MarginLevels": {
    ...{ maintenanceMargin: "asset", searchLevel: "asset", initialMargin: "asset" },
    ...{ collateralReleaseLevel: "asset", orderMargin: "asset" },
  },
} as const satisfies Record<string, Record<string, "asset" | "price" | "size">>;

/** The types of records whose numbers {@link MarketUnits.decimalsOf} converts. */
export type DecimalRecordType = keyof typeof DECIMAL_FIELDS;

/** The numbers of a record as decimal numbers, by field. */
export type DecimalsOf<T extends DecimalRecordType> = { readonly [F in keyof (typeof DECIMAL_FIELDS)[T]]: string };

/** The units in which a market counts prices, sizes and amounts. */
export interface MarketUnits extends DecimalCommands {
  readonly marketId: string;
  readonly price: PriceUnits;
  readonly size: DecimalUnits<bigint>;
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
export interface Units {
  /**
   * Loads a market's units of prices, sizes and amounts, which convert the decimal numbers of commands and results.
   *
   * The decimals of a market and of an asset never change. Governance can change the tick size: load the units again then.
   *
   * @param marketId the market, 64 hex digits
   * @param options a signal, headers and a time limit for each of the two calls
   * @returns the market's units; using them makes no more requests
   * @throws {@link RequestError} if the identifier is not 64 hex digits
   * @throws {@link NodeError} if the node has no such market
   * @throws {@link ProtocolError} if the node's response lacks the market's product or asset, or has impossible
   *   decimals or an impossible tick size
   *
   * @example
   * const { price, size, asset } = await client.marketUnits(marketId);
   * console.log(price.format("123450"), price.parse("1.2345"), size.decimals, asset.format(1000n));
   */
  marketUnits(marketId: string, options?: CallOptions): Promise<MarketUnits>;
}

type MarketService = Pick<ConnectClient<typeof TradingDataService>, "getAsset" | "getMarket">;

export function createUnits(
  service: <S extends DescService>(service: S) => ConnectClient<S>,
  failing: CallErrorMapper,
): Units {
  return {
    async marketUnits(marketId, options) {
      requireIdentifier(marketId, "marketId");
      const callOptions = parseCallOptions(options);
      const { TradingDataService } = await loadDefinitions();
      const { getMarket } = TradingDataService.method;
      return loadMarketUnits(service(TradingDataService), marketId.toLowerCase(), callOptions).catch(
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
  const loadAsset = async (id: string): Promise<AssetUnits> => {
    const { asset } = await service.getAsset({ assetId: id }, options);
    const decimals = checkDecimals(asset?.details?.decimals, 0, `asset ${id}`);
    return { assetId: id, ...unitsOf(decimals, `asset ${id}`, String) };
  };
  const [asset, baseAsset] = await Promise.all([
    loadAsset(assetId),
    baseAssetId === undefined ? undefined : loadAsset(baseAssetId),
  ]);
  const owner = `market ${marketId}`;
  const priceDecimals = checkDecimals(market.decimalPlaces, 0, `the prices of ${owner}`);
  const sizeDecimals = checkDecimals(market.positionDecimalPlaces, -MAX_DECIMALS, `the sizes of ${owner}`);
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

function unitsOf<U extends bigint | string>(
  decimals: number,
  owner: string,
  fromUnits: (units: bigint) => U,
  rules: { readonly option?: string; readonly tick?: bigint; readonly isSigned?: boolean } = {},
): DecimalUnits<U> {
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
  const fields = DECIMAL_FIELDS[record.$typeName];
  if (fields === undefined) {
    throw new RequestError(`records of type ${quoted(String(record.$typeName))} have no decimals`, {
      advice: `Use a message of one of these types: ${Object.keys(DECIMAL_FIELDS).join(", ")}.`,
    });
  }
  const owner = record.marketId ?? record.market;
  if (owner !== undefined && owner !== marketId) {
    throw new RequestError(`the record belongs to market ${quoted(String(owner))}, not to ${marketId}`, {
      advice: "Load the units of the record's market: markets have different decimals.",
    });
  }
  const numbers = Object.entries(fields).map(([field, unit]) => {
    const value: unknown = Reflect.get(record, field);
    return [field, value === "" ? "" : formatField(field, value, units[unit].decimals)];
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
