import { createHash } from "node:crypto";
import { create, fromJsonString, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type DataSourceDefinition, DataSourceDefinitionSchema } from "../../../gen/vega/data_source_pb.js";
import {
  type InstrumentConfiguration,
  type NewMarketConfiguration,
  type Proposal,
  ProposalError,
  type UpdateMarketConfiguration,
} from "../../../gen/vega/governance_pb.js";
import {
  type InstrumentSchema,
  LiquidityFeeSettings_Method,
  type Market,
  Market_State,
  Market_TradingMode,
  MarketSchema,
  PriceMonitoringParametersSchema,
} from "../../../gen/vega/markets_pb.js";
import type { State } from "./state.js";

/** Why a proposal is rejected. */
export interface Rejection {
  readonly reason: ProposalError;
  /** In the network's words. */
  readonly details: string;
}

const SECOND = 1_000_000_000n;

/**
 * Check a market that is proposed (`core/governance/market.go`, validateNewMarketChange). The local node looks at its product,
 * its asset, its decimals and its parent.
 *
 * @param state what the engine knows
 * @param changes the market
 * @returns why it is rejected, if so
 */
export function newMarketRejection(state: State, changes: NewMarketConfiguration | undefined): Rejection | undefined {
  const product = changes?.instrument?.product;
  if (changes === undefined || product?.case === undefined) {
    return { reason: ProposalError.NO_PRODUCT, details: "missing product" };
  }
  if (product.case === "spot") {
    return { reason: ProposalError.UNSUPPORTED_PRODUCT, details: "product type is not supported" };
  }
  const asset = state.assets.get(product.value.settlementAsset.toLowerCase());
  if (asset === undefined) {
    return { reason: ProposalError.INVALID_ASSET, details: "asset does not exist" };
  }
  if (changes.decimalPlaces + changes.positionDecimalPlaces > (asset.details?.decimals ?? 0n)) {
    const details = "market decimal + position decimals must be less than or equal to asset decimals";
    return { reason: ProposalError.TOO_MANY_MARKET_DECIMAL_PLACES, details };
  }
  return parentRejection(state, changes);
}

function parentRejection(state: State, { successor, instrument }: NewMarketConfiguration): Rejection | undefined {
  if (successor === undefined) {
    return undefined;
  }
  const reason = ProposalError.INVALID_SUCCESSOR_MARKET;
  const parent = state.markets.get(successor.parentMarketId.toLowerCase())?.market;
  if (parent === undefined) {
    return { reason, details: "market to succeed does not exist" };
  }
  if (parent.successorMarketId !== undefined) {
    return { reason, details: "the parent market was already succeeded by a prior proposal" };
  }
  const old = parent.tradableInstrument?.instrument?.product;
  const product = instrument?.product;
  if (old?.case !== "future" || product?.case !== "future") {
    return { reason, details: "parent and successor markets must both be future markets" };
  }
  if (product.value.settlementAsset.toLowerCase() !== old.value.settlementAsset) {
    return { reason, details: `successor market must use asset ${old.value.settlementAsset}` };
  }
  return product.value.quoteName === old.value.quoteName
    ? undefined
    : { reason, details: `successor market must use quote name ${old.value.quoteName}` };
}

/**
 * Make the market of a proposal, which waits for the vote (`core/governance/market.go`, buildMarketFromProposal).
 *
 * @param state what the engine knows
 * @param proposal the proposal, which gives the market its identifier
 * @param changes the market
 * @param now when it is proposed, in Unix nanoseconds
 * @returns the market
 */
export function marketOfProposal(
  state: State,
  { id, terms }: Proposal,
  changes: NewMarketConfiguration,
  now: bigint,
): Market {
  const { parameters } = state.registers;
  const { closingTimestamp = 0n, enactmentTimestamp = 0n } = terms ?? {};
  const factor = (name: string) => parameters.get(`market.fee.factors.${name}`) ?? "0";
  return create(MarketSchema, {
    ...settingsOf(changes, parameters),
    id,
    tradableInstrument: {
      instrument: {
        code: changes.instrument?.code ?? "",
        name: changes.instrument?.name ?? "",
        metadata: { tags: changes.metadata },
        product: productOf(changes.instrument),
      },
      marginCalculator: { scalingFactors: scalingFactors(parameters) },
      riskModel: riskModelOf(changes),
    },
    decimalPlaces: changes.decimalPlaces,
    positionDecimalPlaces: changes.positionDecimalPlaces,
    fees: {
      factors: {
        ...{ makerFee: factor("makerFee"), infrastructureFee: factor("infrastructureFee"), liquidityFee: "0" },
        ...{ treasuryFee: factor("treasuryFee"), buyBackFee: factor("buybackFee") },
      },
      liquidityFeeSettings: changes.liquidityFeeSettings ?? { method: LiquidityFeeSettings_Method.MARGINAL_COST },
    },
    openingAuction: { duration: enactmentTimestamp - closingTimestamp },
    tradingMode: Market_TradingMode.NO_TRADING,
    state: Market_State.PROPOSED,
    marketTimestamps: { proposed: now, pending: closingTimestamp * SECOND, open: enactmentTimestamp * SECOND },
    ...(changes.successor !== undefined && {
      parentMarketId: changes.successor.parentMarketId.toLowerCase(),
      insurancePoolFraction: changes.successor.insurancePoolFraction,
    }),
  });
}

/**
 * Change a market as a proposal asks for.
 *
 * @param market the market
 * @param changes what it is to be
 * @returns the market, in the state that it was in
 */
export function updatedMarket(market: Market, changes: UpdateMarketConfiguration): Market {
  const { tradableInstrument, fees } = market;
  const { instrument } = changes;
  return create(MarketSchema, {
    ...plain(market),
    ...settingsOf(changes, new Map()),
    ...(changes.priceMonitoringParameters === undefined && {
      priceMonitoringSettings: market.priceMonitoringSettings,
    }),
    tradableInstrument: {
      ...(tradableInstrument && plain(tradableInstrument)),
      instrument: {
        ...(tradableInstrument?.instrument && plain(tradableInstrument.instrument)),
        ...(instrument !== undefined && { code: instrument.code, name: instrument.name }),
        metadata: { tags: changes.metadata },
        product: updatedProduct(market, changes),
      },
      riskModel: riskModelOf(changes),
    },
    ...(fees !== undefined &&
      changes.liquidityFeeSettings !== undefined && {
        fees: { ...plain(fees), liquidityFeeSettings: changes.liquidityFeeSettings },
      }),
  });
}

/** What new and updated markets are told alike. */
function settingsOf(
  changes: NewMarketConfiguration | UpdateMarketConfiguration,
  parameters: ReadonlyMap<string, string>,
) {
  const { priceMonitoringParameters, liquidityMonitoringParameters, liquiditySlaParameters } = changes;
  const { liquidationStrategy, markPriceConfiguration } = changes;
  return {
    priceMonitoringSettings: { parameters: priceMonitoringParameters ?? defaultTriggers(parameters) },
    ...(liquidityMonitoringParameters && { liquidityMonitoringParameters }),
    linearSlippageFactor: changes.linearSlippageFactor,
    quadraticSlippageFactor: changes.quadraticSlippageFactor === "" ? "0" : changes.quadraticSlippageFactor,
    ...(changes.lpPriceRange !== undefined && { lpPriceRange: changes.lpPriceRange }),
    ...(liquiditySlaParameters && { liquiditySlaParams: liquiditySlaParameters }),
    ...(liquidationStrategy && { liquidationStrategy }),
    ...(markPriceConfiguration && {
      markPriceConfiguration: {
        ...markPriceConfiguration,
        decayWeight: markPriceConfiguration.decayWeight || "0",
        cashAmount: markPriceConfiguration.cashAmount || "0",
      },
    }),
    tickSize: changes.tickSize,
    enableTransactionReordering: changes.enableTransactionReordering,
  };
}

type Product = NonNullable<MessageInitShape<typeof InstrumentSchema>["product"]>;

function productOf(instrument: InstrumentConfiguration | undefined): Product {
  const product = instrument?.product;
  switch (product?.case) {
    case "future": {
      const { dataSourceSpecForSettlementData, dataSourceSpecForTradingTermination, ...future } = product.value;
      return {
        case: "future",
        value: {
          ...plain(future),
          settlementAsset: future.settlementAsset.toLowerCase(),
          dataSourceSpecForSettlementData: specOf(dataSourceSpecForSettlementData),
          dataSourceSpecForTradingTermination: specOf(dataSourceSpecForTradingTermination),
        },
      };
    }
    case "perpetual": {
      const { dataSourceSpecForSettlementSchedule, dataSourceSpecForSettlementData, ...perpetual } = product.value;
      return {
        case: "perpetual",
        value: {
          ...plain(perpetual),
          settlementAsset: perpetual.settlementAsset.toLowerCase(),
          dataSourceSpecForSettlementSchedule: specOf(dataSourceSpecForSettlementSchedule),
          dataSourceSpecForSettlementData: specOf(dataSourceSpecForSettlementData),
        },
      };
    }
    default:
      return { case: undefined };
  }
}

function updatedProduct({ tradableInstrument }: Market, { instrument }: UpdateMarketConfiguration): Product {
  const old = tradableInstrument?.instrument?.product;
  const product = instrument?.product;
  if (old?.case === "future" && product?.case === "future") {
    const { dataSourceSpecForSettlementData, dataSourceSpecForTradingTermination, ...future } = product.value;
    return {
      case: "future",
      value: {
        ...plain(old.value),
        ...plain(future),
        dataSourceSpecForSettlementData: specOf(dataSourceSpecForSettlementData),
        dataSourceSpecForTradingTermination: specOf(dataSourceSpecForTradingTermination),
      },
    };
  }
  if (old?.case === "perpetual" && product?.case === "perpetual") {
    const { dataSourceSpecForSettlementSchedule, dataSourceSpecForSettlementData, ...perpetual } = product.value;
    return {
      case: "perpetual",
      value: {
        ...plain(old.value),
        ...plain(perpetual),
        dataSourceSpecForSettlementSchedule: specOf(dataSourceSpecForSettlementSchedule),
        dataSourceSpecForSettlementData: specOf(dataSourceSpecForSettlementData),
      },
    };
  }
  return old ?? { case: undefined };
}

/** The fields of a message without what says of which type it is. */
function plain<T extends { readonly $typeName: string }>({ $typeName: _, ...fields }: T): Omit<T, "$typeName"> {
  return fields;
}

/** A data source as a market names it: its identifier is the hash of its definition (`core/datasource/datasource.go`). */
function specOf(data: DataSourceDefinition | undefined) {
  return data === undefined ? undefined : { id: sourceId(data), data };
}

/**
 * Make the identifier of a data source.
 *
 * @param definition what the source is
 * @returns 64 hex digits in lower case
 */
export function sourceId(definition: DataSourceDefinition): string {
  return createHash("sha3-256").update(toBinary(DataSourceDefinitionSchema, definition)).digest("hex");
}

function riskModelOf({ riskParameters }: NewMarketConfiguration | UpdateMarketConfiguration) {
  switch (riskParameters.case) {
    case "simple":
      return { case: "simpleRiskModel" as const, value: { params: riskParameters.value } };
    case "logNormal":
      return { case: "logNormalRiskModel" as const, value: riskParameters.value };
    default:
      return { case: undefined };
  }
}

/** The margin's factors as the parameter gives them. */
function scalingFactors(parameters: ReadonlyMap<string, string>) {
  const given: unknown = JSON.parse(parameters.get("market.margin.scalingFactors") ?? "{}");
  const factor = (name: string) => {
    const value: unknown = typeof given === "object" && given !== null ? Reflect.get(given, name) : undefined;
    return typeof value === "number" ? value : 0;
  };
  return {
    searchLevel: factor("search_level"),
    initialMargin: factor("initial_margin"),
    collateralRelease: factor("collateral_release"),
  };
}

/** The triggers of price monitoring that markets have which name none. */
function defaultTriggers(parameters: ReadonlyMap<string, string>) {
  const text = parameters.get("market.monitor.price.defaultParameters");
  return text === undefined ? undefined : fromJsonString(PriceMonitoringParametersSchema, text);
}
