import { type DescField, type DescMessage, isMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { ProtocolError } from "../../base/errors/index.js";
import { formatValue } from "../../base/input/assert.js";
import { formatField, parseUnits, type UnitKind, type Units } from "./decimal.js";

/**
 * The unit of each field that has one, by the type of the message. Amounts are of the asset that the message, or one around it,
 * names, otherwise of the asset in which the market settles. With `?`, the network may leave the field out. With `/text`, the number
 * is a text that may have a fraction of a unit.
 *
 * The core counts all prices with the decimals of the asset, and converts those that users see as prices of a market. Fields that
 * look like such prices but are not converted are amounts here: each is as v0.78.0 sends it (core/events, core/execution and
 * datanode/entities), whatever the comment of the definition says. Stakes are not here: no message names their asset.
 */
export const FIELD_UNITS = {
  "vega.Order": { price: "price", size: "size", remaining: "size" },
  "vega.PeggedOrder": { offset: "price" },
  "vega.IcebergOrder": { peakSize: "size", minimumVisibleSize: "size", reservedRemaining: "size" },
  // The data node leaves the asset's price out.
  "vega.Trade": { price: "price", size: "size", assetPrice: "asset?" },
  "vega.Fee": {
    ...{ makerFee: "asset", infrastructureFee: "asset", liquidityFee: "asset", treasuryFee: "asset" },
    ...{ makerFeeVolumeDiscount: "asset", infrastructureFeeVolumeDiscount: "asset" },
    ...{ liquidityFeeVolumeDiscount: "asset", makerFeeReferrerDiscount: "asset" },
    ...{ infrastructureFeeReferrerDiscount: "asset", liquidityFeeReferrerDiscount: "asset" },
    ...{ buyBackFee: "asset", highVolumeMakerFee: "asset" },
  },
  // `mtm` in datanode/entities/position.go multiplies by `AverageEntryPrice`, which has the asset's decimals.
  "vega.Position": {
    ...{ openVolume: "size", averageEntryPrice: "price" },
    ...{ realisedPnl: "asset", unrealisedPnl: "asset", lossSocialisationAmount: "asset" },
  },
  "datanode.api.v2.AccountBalance": { balance: "asset" },
  "vega.Account": { balance: "asset" },
  "vega.LedgerEntry": { amount: "asset", fromAccountBalance: "asset", toAccountBalance: "asset" },
  "vega.PostTransferBalance": { balance: "asset" },
  "vega.Market": { tickSize: "price?" }, // Without it, it is 1.
  "vega.FutureCap": { maxPrice: "price" },
  "vega.LiquidationStrategy": { fullDisposalSize: "size" },
  "vega.UpdateMarketConfiguration": { tickSize: "price?" },
  "vega.UpdateSpotMarketConfiguration": { tickSize: "price?" },
  "vega.UpdateMarketStateConfiguration": { price: "price?" },
  "vega.NewTransferConfiguration": { amount: "asset" },
  "vega.MarketData": {
    ...{ markPrice: "price", lastTradedPrice: "price", midPrice: "price", staticMidPrice: "price" },
    ...{ bestBidPrice: "price", bestBidVolume: "size", bestOfferPrice: "price", bestOfferVolume: "size" },
    ...{ bestStaticBidPrice: "price", bestStaticBidVolume: "size" },
    ...{ bestStaticOfferPrice: "price", bestStaticOfferVolume: "size" },
    ...{ indicativePrice: "price", indicativeVolume: "size", openInterest: "size" },
    ...{ targetStake: "asset", suppliedStake: "asset", marketValueProxy: "asset" },
  },
  "vega.PriceMonitoringBounds": { minValidPrice: "price", maxValidPrice: "price", referencePrice: "price" },
  "vega.LiquidityProviderFeeShare": { averageEntryValuation: "asset/text", virtualStake: "asset/text" },
  "vega.LiquidityProviderSLA": {
    ...{ requiredLiquidity: "asset/text", notionalVolumeBuys: "asset/text", notionalVolumeSells: "asset/text" },
  },
  "vega.PerpetualData": {
    ...{ fundingPayment: "asset", internalTwap: "asset", externalTwap: "asset", underlyingIndexPrice: "asset" },
    internalCompositePrice: "price",
  },
  "vega.CompositePriceSource": { price: "asset" },
  "vega.PriceLevel": { price: "price", volume: "size", ammVolume: "size", ammVolumeEstimated: "size" },
  "vega.StopOrder": { price: "price" },
  "vega.MarginLevels": {
    ...{ maintenanceMargin: "asset", searchLevel: "asset", initialMargin: "asset" },
    ...{ collateralReleaseLevel: "asset", orderMargin: "asset" },
  },
  "vega.LiquidityProvision": { commitmentAmount: "asset" },
  "vega.AssetDetails": { quantum: "asset/text" },
  "vega.AssetDetailsUpdate": { quantum: "asset/text" },
  "vega.BuiltinAsset": { maxFaucetAmountMint: "asset" },
  "vega.ERC20": { lifetimeLimit: "asset", withdrawThreshold: "asset" },
  "vega.ERC20Update": { lifetimeLimit: "asset", withdrawThreshold: "asset" },
  "vega.Deposit": { amount: "asset" },
  "vega.Withdrawal": { amount: "asset" },
  "vega.DispatchStrategy": { notionalTimeWeightedAveragePositionRequirement: "asset?" },
  "vega.events.v1.LossSocialization": { amount: "asset" },
  "vega.events.v1.SettlePosition": { price: "asset" },
  "vega.events.v1.TradeSettlement": { size: "size", price: "asset", marketPrice: "price" },
  "vega.events.v1.SettleDistressed": { margin: "asset", price: "asset" },
  "vega.events.v1.SettleMarket": { price: "asset" },
  "vega.events.v1.PositionStateEvent": {
    ...{ size: "size", potentialBuys: "size", potentialSells: "size", vwBuyPrice: "asset", vwSellPrice: "asset" },
  },
  "vega.events.v1.RewardPayoutEvent": { amount: "asset" },
  "vega.events.v1.Transfer": { amount: "asset" },
  "vega.events.v1.FundingPeriod": { fundingPayment: "asset?", internalTwap: "asset?", externalTwap: "asset?" },
  "vega.events.v1.FundingPeriodDataPoint": { price: "asset", twap: "asset" },
  "vega.events.v1.FundingPayment": { amount: "asset" },
  "vega.events.v1.PartyAmount": { amount: "asset" },
  "vega.events.v1.PaidLiquidityFeesStats": { totalFeesPaid: "asset" },
  "vega.events.v1.PartyLockedBalance": { balance: "asset" },
  "vega.events.v1.PartyVestingBalance": { balance: "asset" },
  "vega.events.v1.TransferFeesDiscount": { amount: "asset" },
  "vega.events.v1.TimeWeightedNotionalPositionUpdated": { timeWeightedNotionalPosition: "asset" },
  "vega.events.v1.AMM": { commitment: "asset" },
  "vega.events.v1.AMM.ConcentratedLiquidityParameters": { base: "price", lowerBound: "price?", upperBound: "price?" },
  "vega.events.v1.AMM.Curve": { theoreticalPosition: "size/text" },
  "vega.commands.v1.OrderSubmission": { price: "price", size: "size" },
  "vega.commands.v1.IcebergOpts": { peakSize: "size", minimumVisibleSize: "size" },
  "vega.commands.v1.OrderAmendment": {
    ...{ price: "price?", peggedOffset: "price?", sizeDelta: "size", size: "size?" },
  },
  "vega.commands.v1.StopOrderSetup": { price: "price" },
  "vega.commands.v1.LiquidityProvisionSubmission": { commitmentAmount: "asset" },
  "vega.commands.v1.LiquidityProvisionAmendment": { commitmentAmount: "asset?" },
  "vega.commands.v1.SubmitAMM": { commitmentAmount: "asset" },
  "vega.commands.v1.SubmitAMM.ConcentratedLiquidityParameters": {
    ...{ base: "price", lowerBound: "price?", upperBound: "price?" },
  },
  "vega.commands.v1.AmendAMM": { commitmentAmount: "asset?" },
  "vega.commands.v1.AmendAMM.ConcentratedLiquidityParameters": {
    ...{ base: "price", lowerBound: "price?", upperBound: "price?" },
  },
  "vega.commands.v1.WithdrawSubmission": { amount: "asset" },
  "vega.commands.v1.Transfer": { amount: "asset" },
  "vega.BuiltinAssetDeposit": { amount: "asset" },
  "vega.BuiltinAssetWithdrawal": { amount: "asset" },
  "vega.ERC20Deposit": { amount: "asset" },
  "vega.ERC20AssetLimitsUpdated": { lifetimeLimits: "asset", withdrawThreshold: "asset" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldUnit>>>>;

type FieldUnit = UnitKind | `${UnitKind}?` | `${UnitKind}/text`;

const fieldUnits: Readonly<Record<string, Readonly<Record<string, FieldUnit>>>> = FIELD_UNITS;

/** Returns the unit of a field; `undefined` if it has none. */
export function unitOf({ typeName }: DescMessage, { localName }: DescField): UnitKind | undefined {
  const of = fieldUnits[typeName]?.[localName];
  return of && kindOf(of);
}

/** Where a message names its market and its asset, if not in a field of these names. */
const OWNERS: Readonly<Record<string, { readonly market?: readonly string[]; readonly asset?: readonly string[] }>> = {
  "vega.Market": { market: ["id"] },
  "vega.MarketData": { market: ["market"] },
  "vega.commands.v1.StopOrderSetup": { market: ["orderSubmission", "marketId"] },
  "vega.Asset": { asset: ["id"] },
  "vega.LedgerEntry": { asset: ["fromAccount", "assetId"] },
  "vega.PostTransferBalance": { asset: ["account", "assetId"] },
  "vega.DispatchStrategy": { asset: ["assetForMetric"] },
};
const MARKET_FIELDS = ["marketId"];
const ASSET_FIELDS = ["asset", "assetId", "vegaAssetId"];

/** The units of the fields of messages, by the type of the message. */
export type FieldUnits = typeof FIELD_UNITS;
type UnitsOfType<T> = T extends keyof FieldUnits ? FieldUnits[T] : Record<never, never>;
type UnitAt<T, F> = F extends keyof UnitsOfType<T> ? UnitsOfType<T>[F] : undefined;
type TypedMessage<T = string> = { readonly $typeName: T };
type Case<C = string, V = unknown> = { readonly case: C; readonly value: V };

/** A message whose numbers with a unit are {@link Units}, at any depth. Its other fields are those of the message. */
export type InUnits<M> =
  M extends TypedMessage<infer T> ? { readonly [F in keyof M]: FieldInUnits<UnitAt<T, F>, M[F], T> } : M;

type FieldInUnits<U, V, T> = U extends UnitKind
  ? Units<U>
  : U extends `${infer Kind extends UnitKind}?`
    ? Units<Kind> | undefined
    : ValueInUnits<V, T>;

type ValueInUnits<V, T> = V extends TypedMessage
  ? InUnits<V>
  : V extends Case<infer C, infer W>
    ? Case<C, FieldInUnits<UnitAt<T, C>, W, T>>
    : V extends readonly (infer E extends TypedMessage)[]
      ? readonly InUnits<E>[]
      : V;

/** The numbers of a message that have a unit as decimal numbers, by field, at any depth. */
export type DecimalFields<M> = M extends TypedMessage<infer T> ? OwnDecimals<M, T> & InnerDecimals<M> : never;

type OwnDecimals<M, T, U = UnitsOfType<T>> = {
  readonly [F in keyof U as IsGiven<M, F, U[F]> extends true ? F : never]: string;
} & {
  readonly [F in keyof U as IsGiven<M, F, U[F]> extends true ? never : F]?: string;
};

/** Whether the network always gives a field: not one of a oneof, and not an optional one. */
type IsGiven<M, F, U> = U extends `${string}?`
  ? false
  : F extends keyof M
    ? undefined extends M[F]
      ? false
      : true
    : false;

type InnerDecimals<M> = {
  readonly [F in keyof M as HasUnits<M[F]> extends true ? F : never]?: ValueDecimals<NonNullable<M[F]>>;
} & {
  readonly [C in CasesOf<M> as HasUnits<C["value"]> extends true ? C["case"] : never]?: ValueDecimals<C["value"]>;
};

type CasesOf<M> = Extract<M[keyof M], Case>;

type ValueDecimals<V> = V extends readonly (infer E)[] ? readonly DecimalFields<E>[] : DecimalFields<V>;

/** Whether a value is a message that has units, or contains one that does. Those of Protobuf itself contain each other. */
type HasUnits<V> = true extends MessageHasUnits<V extends readonly (infer E)[] ? E : V> ? true : false;
type MessageHasUnits<M> =
  M extends TypedMessage<infer T extends `${"datanode" | "vega"}.${string}`>
    ? T extends keyof FieldUnits
      ? true
      : HasUnits<Exclude<M[Exclude<keyof M, "$typeName" | "$unknown">], string>> | HasUnits<CasesOf<M>["value"]>
    : false;

/** The decimals of markets and assets that were loaded. */
export interface KnownDecimals {
  market(marketId: string): MarketDecimals | undefined;
  asset(assetId: string): Decimals | undefined;
}

interface Decimals {
  readonly decimals: number;
}

/** The decimals of a market, as `MarketUnits` has them. */
type MarketDecimals = Readonly<Partial<Record<UnitKind, Decimals>>>;

/** The decimal numbers of a message, by field: nested as the fields are. */
export interface DecimalNumbers {
  readonly [field: string]: string | DecimalNumbers | readonly DecimalNumbers[];
}

/**
 * Converts the numbers of a message that have a unit to decimal numbers, at any depth.
 *
 * @throws {@link RequestError} if such a field is not a number
 */
export function decimalFields<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  known: KnownDecimals,
): DecimalNumbers {
  return numbersIn(desc, message, {}, (field, of, value, { market, asset }) => {
    const kind = kindOf(of);
    const isOfAsset = kind === "asset" && asset !== undefined;
    const decimals = isOfAsset ? known.asset(asset) : market === undefined ? undefined : known.market(market)?.[kind];
    return decimals && formatUnits(field, value, decimals.decimals);
  });
}

/** The markets and assets whose decimals messages need. */
export interface Owners {
  readonly markets: ReadonlySet<string>;
  readonly assets: ReadonlySet<string>;
}

/** Finds the markets and assets whose decimals {@link decimalFields} needs for a message. */
export function ownersIn<D extends DescMessage>(desc: D, message: MessageShape<D>): Owners {
  const markets = new Set<string>();
  const assets = new Set<string>();
  numbersIn(desc, message, {}, (_, of, __, { market, asset }) => {
    if (kindOf(of) === "asset" && asset !== undefined) {
      assets.add(asset);
    } else if (market !== undefined) {
      markets.add(market);
    }
    return undefined;
  });
  return { markets, assets };
}

/**
 * Copies a message, with {@link Units} in place of its numbers that have a unit, at any depth. A number that the node left out is 0,
 * or `undefined` if that means something else.
 *
 * @throws {@link ProtocolError} if such a field is not a whole number
 */
export function inUnits<M extends Message>(desc: DescMessage, message: M): InUnits<M>;
export function inUnits(desc: DescMessage, message: Message): object {
  const copy: Record<string, unknown> = { ...message };
  for (const { field, of } of fieldsWithUnits(desc)) {
    const value = valueIn(message, field);
    if (value !== undefined) {
      const inner = (each: unknown) => (isMessage(each) && field.message ? inUnits(field.message, each) : each);
      const list = Array.isArray(value) ? value.map(inner) : inner(value);
      setValue(copy, field, of === undefined || of.endsWith("/text") ? list : wholeNumber(field, of, value));
    }
  }
  return copy;
}

/** The market and the asset that a message, or one around it, names. */
interface Owner {
  readonly market?: string | undefined;
  readonly asset?: string | undefined;
}

type Convert = (field: string, of: FieldUnit, value: unknown, owner: Owner) => string | undefined;

/** Converts each number of a message that has a unit. What comes to nothing is left out. */
function numbersIn(desc: DescMessage, message: Message, outer: Owner, toText: Convert): DecimalNumbers {
  const owner = ownerOf(desc.typeName, message, outer);
  const numbers: Record<string, DecimalNumbers[string]> = {};
  for (const { field, of } of fieldsWithUnits(desc)) {
    const value = valueIn(message, field);
    const inner = (each: unknown) =>
      isMessage(each) && field.message ? numbersIn(field.message, each, owner, toText) : {};
    if (of !== undefined) {
      const text = isLeftOut(of, value) ? undefined : toText(field.localName, of, value, owner);
      if (text !== undefined) {
        numbers[field.localName] = text;
      }
    } else {
      const all = Array.isArray(value) ? value.map(inner) : inner(value);
      if ([all].flat().some((each) => Object.keys(each).length > 0)) {
        numbers[field.localName] = all;
      }
    }
  }
  return numbers;
}

interface UnitField {
  readonly field: DescField;
  /** Its unit; `undefined` for a message that contains numbers with units. */
  readonly of: FieldUnit | undefined;
}

const found = new WeakMap<DescMessage, readonly UnitField[]>();

function fieldsWithUnits(desc: DescMessage): readonly UnitField[] {
  let fields = found.get(desc);
  if (fields === undefined) {
    fields = desc.fields.flatMap((field) => {
      const of = fieldUnits[desc.typeName]?.[field.localName];
      return of !== undefined || leadsToUnits(field, new Set()) ? [{ field, of }] : [];
    });
    found.set(desc, fields);
  }
  return fields;
}

function leadsToUnits({ fieldKind, message }: DescField, seen: Set<DescMessage>): boolean {
  if (fieldKind === "map" || message === undefined || seen.has(message)) {
    return false;
  }
  seen.add(message);
  return message.typeName in fieldUnits || message.fields.some((field) => leadsToUnits(field, seen));
}

/** Returns the value of a field; `undefined` if it is not set. */
function valueIn(message: Message, { localName, oneof }: DescField): unknown {
  const chosen: unknown = Reflect.get(message, oneof?.localName ?? localName);
  if (oneof === undefined) {
    return chosen;
  }
  return isObject(chosen) && Reflect.get(chosen, "case") === localName ? Reflect.get(chosen, "value") : undefined;
}

function setValue(copy: Record<string, unknown>, { localName, oneof }: DescField, value: unknown): void {
  copy[oneof?.localName ?? localName] = oneof === undefined ? value : { case: localName, value };
}

function ownerOf(typeName: string, message: Message, outer: Owner): Owner {
  const { market, asset } = OWNERS[typeName] ?? {};
  return {
    market: market === undefined ? (firstText(message, MARKET_FIELDS) ?? outer.market) : textAt(message, market),
    asset: asset === undefined ? (firstText(message, ASSET_FIELDS) ?? outer.asset) : textAt(message, asset),
  };
}

function firstText(message: Message, names: readonly string[]): string | undefined {
  return names.map((name) => textAt(message, [name])).find((text) => text !== undefined);
}

/** Returns the text at a path; `undefined` if it is empty or not there. */
function textAt(message: Message, path: readonly string[]): string | undefined {
  const text = path.reduce<unknown>((inner, name) => (isObject(inner) ? Reflect.get(inner, name) : undefined), message);
  return typeof text === "string" && text !== "" ? text : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function kindOf(of: FieldUnit): UnitKind {
  return of.startsWith("asset") ? "asset" : of.startsWith("price") ? "price" : "size";
}

function isLeftOut(of: FieldUnit, value: unknown): boolean {
  return value === undefined || (value === "" && of.endsWith("?"));
}

function wholeNumber({ parent, name }: DescField, of: FieldUnit, value: unknown): bigint | undefined {
  if (isLeftOut(of, value)) {
    return undefined;
  }
  const number = value === "" ? 0n : parseUnits(value);
  if (number === undefined) {
    throw new ProtocolError(
      `the node sent ${formatValue(value)} as ${name} of ${parent.typeName}, which is no whole number`,
      {
        advice: "Use another node, and report this to the operator of the node.",
      },
    );
  }
  return number;
}

/** Formats a number in units, which may be a text with a fraction of a unit. */
function formatUnits(field: string, value: unknown, decimals: number): string {
  const [, whole = "", fraction = ""] = typeof value === "string" ? (/^(-?\d+)\.(\d+)$/.exec(value) ?? []) : [];
  return fraction === ""
    ? formatField(field, value === "" ? "0" : value, decimals)
    : formatField(field, `${whole}${fraction}`, decimals + fraction.length);
}
