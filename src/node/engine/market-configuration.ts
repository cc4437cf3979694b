import { createHash } from "node:crypto";
import { create, fromJsonString, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type DataSourceDefinition,
  DataSourceDefinitionSchema,
  type DataSourceSpec,
} from "../../../gen/vega/data_source_pb.js";
import type {
  InstrumentConfiguration,
  NewMarketConfiguration,
  Proposal,
  UpdateMarketConfiguration,
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
import type { State } from "./engine-state.js";

const SECOND = 1_000_000_000n;

/** Builds the market of a new-market proposal (`core/governance/market.go`, buildMarketFromProposal). */
export function marketOfProposal(
  state: State,
  { id, terms }: Proposal,
  changes: NewMarketConfiguration,
  now: bigint,
): Market {
  const { parameters } = state;
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

export function updatedMarket(market: Market, changes: UpdateMarketConfiguration): Market {
  const { tradableInstrument, fees } = market;
  const { instrument } = changes;
  return create(MarketSchema, {
    ...fieldsOf(market),
    ...settingsOf(changes, new Map()),
    ...(changes.priceMonitoringParameters === undefined && {
      priceMonitoringSettings: market.priceMonitoringSettings,
    }),
    tradableInstrument: {
      ...(tradableInstrument && fieldsOf(tradableInstrument)),
      instrument: {
        ...(tradableInstrument?.instrument && fieldsOf(tradableInstrument.instrument)),
        ...(instrument !== undefined && { code: instrument.code, name: instrument.name }),
        metadata: { tags: changes.metadata },
        product: updatedProduct(market, changes),
      },
      riskModel: riskModelOf(changes),
    },
    ...(fees !== undefined &&
      changes.liquidityFeeSettings !== undefined && {
        fees: { ...fieldsOf(fees), liquidityFeeSettings: changes.liquidityFeeSettings },
      }),
  });
}

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
          ...fieldsOf(future),
          settlementAsset: future.settlementAsset.toLowerCase(),
          dataSourceSpecForSettlementData: dataSourceSpecOf(dataSourceSpecForSettlementData),
          dataSourceSpecForTradingTermination: dataSourceSpecOf(dataSourceSpecForTradingTermination),
        },
      };
    }
    case "perpetual": {
      const { dataSourceSpecForSettlementSchedule, dataSourceSpecForSettlementData, ...perpetual } = product.value;
      return {
        case: "perpetual",
        value: {
          ...fieldsOf(perpetual),
          settlementAsset: perpetual.settlementAsset.toLowerCase(),
          dataSourceSpecForSettlementSchedule: dataSourceSpecOf(dataSourceSpecForSettlementSchedule),
          dataSourceSpecForSettlementData: dataSourceSpecOf(dataSourceSpecForSettlementData),
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
        ...fieldsOf(old.value),
        ...fieldsOf(future),
        dataSourceSpecForSettlementData: dataSourceSpecOf(dataSourceSpecForSettlementData),
        dataSourceSpecForTradingTermination: dataSourceSpecOf(dataSourceSpecForTradingTermination),
      },
    };
  }
  if (old?.case === "perpetual" && product?.case === "perpetual") {
    const { dataSourceSpecForSettlementSchedule, dataSourceSpecForSettlementData, ...perpetual } = product.value;
    return {
      case: "perpetual",
      value: {
        ...fieldsOf(old.value),
        ...fieldsOf(perpetual),
        dataSourceSpecForSettlementSchedule: dataSourceSpecOf(dataSourceSpecForSettlementSchedule),
        dataSourceSpecForSettlementData: dataSourceSpecOf(dataSourceSpecForSettlementData),
      },
    };
  }
  return old ?? { case: undefined };
}

/** Returns the fields of a message without its type name. */
function fieldsOf<T extends { readonly $typeName: string }>({ $typeName: _, ...fields }: T): Omit<T, "$typeName"> {
  return fields;
}

/** Returns a data source spec. Its identifier is the hash of its definition (`core/datasource/datasource.go`). */
function dataSourceSpecOf(data: DataSourceDefinition | undefined) {
  return data === undefined ? undefined : { id: sourceId(data), data };
}

function sourceId(definition: DataSourceDefinition): string {
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

function scalingFactors(parameters: ReadonlyMap<string, string>) {
  const parsed: unknown = JSON.parse(parameters.get("market.margin.scalingFactors") ?? "{}");
  const factor = (name: string) => {
    const value: unknown = typeof parsed === "object" && parsed !== null ? Reflect.get(parsed, name) : undefined;
    return typeof value === "number" ? value : 0;
  };
  return {
    searchLevel: factor("search_level"),
    initialMargin: factor("initial_margin"),
    collateralRelease: factor("collateral_release"),
  };
}

function defaultTriggers(parameters: ReadonlyMap<string, string>) {
  const text = parameters.get("market.monitor.price.defaultParameters");
  return text === undefined ? undefined : fromJsonString(PriceMonitoringParametersSchema, text);
}

export function dataSourcesOf({ tradableInstrument }: Market): DataSourceSpec[] {
  const product = tradableInstrument?.instrument?.product;
  const sources =
    product?.case === "future"
      ? [product.value.dataSourceSpecForSettlementData, product.value.dataSourceSpecForTradingTermination]
      : product?.case === "perpetual"
        ? [product.value.dataSourceSpecForSettlementData, product.value.dataSourceSpecForSettlementSchedule]
        : [];
  return sources.filter((source) => source !== undefined);
}
