import { LiquidityFeeSettings_Method } from "../../../../gen/client/vega/markets_pb.js";
import type {
  NewMarketConfiguration,
  NewSpotMarketConfiguration,
  UpdateMarket,
  UpdateSpotMarket,
  UpdateSpotMarketConfiguration,
} from "../../../../gen/vega/governance_pb.js";
import type {
  LiquidationStrategy,
  LiquidityFeeSettings,
  LiquidityMonitoringParameters,
  LiquiditySLAParameters,
  LogNormalRiskModel,
  PriceMonitoringParameters,
  PriceMonitoringTrigger,
  RiskFactorOverride,
  SimpleModelParams,
  TargetStakeParameters,
} from "../../../../gen/vega/markets_pb.js";
import { compositePriceProblems } from "./data-source.js";
import { compare, float64, signOf, whole } from "./go-numbers.js";
import { newInstrumentProblems, updatedInstrumentProblems } from "./instrument.js";
import {
  above0To1,
  byteLength,
  decimalRule,
  type Field,
  from0To1,
  MESSAGE,
  type NetworkProblem,
  type NetworkProblems,
  positiveDecimal,
  positiveOrZero,
  required,
  requiredDecimal,
  requiredEnum,
  requiredId,
  requiredPositiveUint,
} from "./network-rules.js";

/**
 * Checks a new market (`checkNewMarketChangesConfiguration` in `commands/proposal_submission.go`).
 *
 * @param market its configuration
 * @param at the configuration's field
 */
export function* newMarketProblems(market: NewMarketConfiguration, at: Field): NetworkProblems {
  yield* metadataProblems(market.metadata, at.field("metadata"));
  if (market.decimalPlaces >= 150n) {
    yield at.field("decimalPlaces").problem("must be less than 150");
  }
  yield* withinSevenProblems(market.positionDecimalPlaces, at.field("positionDecimalPlaces"));
  if (market.successor !== undefined) {
    const fraction = at.field("successor").field("insurancePoolFraction");
    yield* requiredDecimal(fraction, market.successor.insurancePoolFraction, from0To1);
  }
  yield* newInstrumentProblems(market.instrument, at.field("instrument"), market.tickSize);
  yield* riskProblems(market.riskParameters, at, { isNew: true, overrides: true });
  yield* derivativeProblems(market, at);
}

/** Checks the changes of a market (`checkUpdateMarket`). */
export function* marketUpdateProblems({ marketId, changes }: UpdateMarket, at: Field, change: Field): NetworkProblems {
  yield* requiredId(at.field("marketId"), marketId);
  const market = at.field("changes");
  if (changes === undefined) {
    yield market.problem(MESSAGE.required);
    return;
  }
  yield* updatedInstrumentProblems(changes.instrument, market.field("instrument"), change);
  yield* riskProblems(changes.riskParameters, market, { isNew: false, overrides: true });
  yield* derivativeProblems(changes, market);
}

/** Checks a new spot market (`checkNewSpotMarketConfiguration`). */
export function* newSpotMarketProblems(market: NewSpotMarketConfiguration, at: Field, change: Field): NetworkProblems {
  const { instrument } = market;
  yield* metadataProblems(
    market.metadata,
    at.field("metadata").named(`${change.property}.new_market.changes.metadata`),
  );
  if (instrument === undefined) {
    yield at.field("instrument").problem(MESSAGE.required);
    return;
  }
  if (instrument.product.case !== "spot") {
    const message = instrument.product.case === undefined ? MESSAGE.required : MESSAGE.mismatching;
    yield at.field("instrument").field("product").problem(message);
    return;
  }
  if (market.priceDecimalPlaces >= 150n) {
    yield at.field("priceDecimalPlaces", "decimal_places").problem("must be less than 150");
  }
  yield* withinSevenProblems(market.sizeDecimalPlaces, at.field("sizeDecimalPlaces", "position_decimal_places"));
  yield* newInstrumentProblems(instrument, at.field("instrument"), market.tickSize);
  yield* riskProblems(market.riskParameters, at, { isNew: true, overrides: false });
  yield* spotProblems(market, at);
}

/** Checks the changes of a spot market (`checkUpdateSpotMarket`). */
export function* spotMarketUpdateProblems(
  { marketId, changes }: UpdateSpotMarket,
  at: Field,
  change: Field,
): NetworkProblems {
  yield* requiredId(at.field("marketId"), marketId);
  const market = at.field("changes");
  if (changes === undefined) {
    yield market.problem(MESSAGE.required);
    return;
  }
  const { instrument } = changes;
  // The network's names of these fields repeat its prefix.
  const name = `${change.property}.proposal_submission.terms.change.update_spot_market.changes.instrument`;
  const named = market.field("instrument").named(name);
  if (instrument === undefined) {
    yield named.problem(MESSAGE.required);
  } else {
    yield* required(named.field("code"), instrument.code);
    yield* required(named.field("name"), instrument.name);
  }
  yield* riskProblems(changes.riskParameters, market, { isNew: false, overrides: false });
  yield* spotProblems(changes, market);
}

/** Checks what new and changed markets of futures and perpetuals have in common. */
function* derivativeProblems(
  market: Pick<
    NewMarketConfiguration,
    | "linearSlippageFactor"
    | "liquidationStrategy"
    | "priceMonitoringParameters"
    | "liquidityMonitoringParameters"
    | "liquiditySlaParameters"
    | "liquidityFeeSettings"
    | "markPriceConfiguration"
    | "tickSize"
  >,
  at: Field,
): NetworkProblems {
  if (market.linearSlippageFactor !== "") {
    yield* decimalRule(at.field("linearSlippageFactor"), market.linearSlippageFactor, (factor) =>
      compare(factor, whole(1_000_000)) > 0 ? "must be at most 1000000" : positiveOrZero(factor),
    );
  }
  yield* liquidationProblems(market.liquidationStrategy, at.field("liquidationStrategy"));
  yield* priceMonitoringProblems(market.priceMonitoringParameters, at.field("priceMonitoringParameters"));
  yield* liquidityMonitoringProblems(market.liquidityMonitoringParameters, at.field("liquidityMonitoringParameters"));
  yield* slaProblems(market.liquiditySlaParameters, at.field("liquiditySlaParameters", "sla_params"));
  yield* feeProblems(market.liquidityFeeSettings, at.field("liquidityFeeSettings"));
  yield* compositePriceProblems(market.markPriceConfiguration, at.field("markPriceConfiguration"));
  yield* requiredPositiveUint(at.field("tickSize"), market.tickSize, MESSAGE.notAnInteger);
}

/** Checks what new and changed spot markets have in common. */
function* spotProblems(
  market: Pick<
    UpdateSpotMarketConfiguration,
    "priceMonitoringParameters" | "targetStakeParameters" | "slaParams" | "liquidityFeeSettings" | "tickSize"
  >,
  at: Field,
): NetworkProblems {
  yield* priceMonitoringProblems(market.priceMonitoringParameters, at.field("priceMonitoringParameters"));
  yield* targetStakeProblems(market.targetStakeParameters, at.field("targetStakeParameters"));
  yield* slaProblems(market.slaParams, at.field("slaParams"));
  yield* requiredPositiveUint(at.field("tickSize"), market.tickSize, MESSAGE.notAnInteger);
  yield* feeProblems(market.liquidityFeeSettings, at.field("liquidityFeeSettings"));
}

function* metadataProblems(metadata: readonly string[], at: Field): NetworkProblems {
  if (metadata.length > 100) {
    yield at.problem(MESSAGE.atMost100);
  }
  for (const [index, text] of metadata.entries()) {
    if (byteLength(text) > 2048) {
      yield at.item(index).problem("must be at most 2048");
    }
  }
}

function* withinSevenProblems(places: bigint, at: Field): NetworkProblems {
  if (places >= 7n || places <= -7n) {
    yield at.problem("must be between -7 and 7");
  }
}

function* priceMonitoringProblems(parameters: PriceMonitoringParameters | undefined, at: Field): NetworkProblems {
  const { triggers = [] } = parameters ?? {};
  if (triggers.length > 100) {
    yield at.field("triggers").problem("maximum 100 triggers allowed");
  }
  for (const [index, trigger] of triggers.entries()) {
    yield* triggerProblems(trigger, at.field("triggers").item(index));
  }
}

function* triggerProblems(
  { horizon, auctionExtension, probability }: PriceMonitoringTrigger,
  at: Field,
): NetworkProblems {
  if (horizon <= 0n) {
    yield at.field("horizon").problem(MESSAGE.positive);
  }
  if (auctionExtension <= 0n) {
    yield at.field("auctionExtension").problem(MESSAGE.positive);
  }
  const value = float64(probability);
  const isInfinite = value !== undefined && Math.abs(value) === Number.POSITIVE_INFINITY;
  if (value === undefined || (isInfinite && !/inf/i.test(probability))) {
    yield at.field("probability").problem("must be numeric and be between 0 (exclusive) and 1 (exclusive)");
  }
  if ((value ?? 0) <= 0.9 || (value ?? 0) >= 1) {
    yield at.field("probability").problem("should be between 0.9 (exclusive) and 1 (exclusive)");
  }
}

function* liquidationProblems(strategy: LiquidationStrategy | undefined, at: Field): NetworkProblems {
  if (strategy === undefined) {
    return;
  }
  for (const name of ["disposalFraction", "maxFractionConsumed"] as const) {
    yield* decimalRule(at.field(name), strategy[name], above0To1, MESSAGE.above0To1);
  }
  if (strategy.disposalTimeStep < 1n) {
    yield at.field("disposalTimeStep").problem(MESSAGE.positive);
  } else if (strategy.disposalTimeStep > 3600n) {
    yield at.field("disposalTimeStep").problem("must be at most 3600");
  }
  yield* decimalRule(
    at.field("disposalSlippageRange"),
    strategy.disposalSlippageRange,
    positiveDecimal,
    MESSAGE.positive,
  );
}

function* liquidityMonitoringProblems(
  parameters: LiquidityMonitoringParameters | undefined,
  at: Field,
): NetworkProblems {
  if (parameters === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  yield* targetStakeProblems(parameters.targetStakeParameters, at.field("targetStakeParameters"));
}

function* targetStakeProblems(parameters: TargetStakeParameters | undefined, at: Field): NetworkProblems {
  if (parameters === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  if (parameters.timeWindow <= 0n) {
    yield at.field("timeWindow").problem(MESSAGE.positive);
  }
  if (parameters.scalingFactor <= 0) {
    yield at.field("scalingFactor").problem(MESSAGE.positive);
  }
}

function* slaProblems(parameters: LiquiditySLAParameters | undefined, at: Field): NetworkProblems {
  if (parameters === undefined) {
    yield at.named(`${at.property}.sla_params`).problem(MESSAGE.required);
    return;
  }
  yield* decimalRule(at.field("priceRange"), parameters.priceRange, (range) =>
    signOf(range) <= 0 || compare(range, whole(20)) > 0
      ? "price range must be strictly greater than 0 and less than or equal to 20"
      : undefined,
  );
  for (const name of ["commitmentMinTimeFraction", "slaCompetitionFactor"] as const) {
    yield* decimalRule(at.field(name), parameters[name], from0To1);
  }
  if (parameters.performanceHysteresisEpochs > 366n) {
    yield at.field("performanceHysteresisEpochs").problem("must be less then 366");
  }
}

function* feeProblems(settings: LiquidityFeeSettings | undefined, at: Field): NetworkProblems {
  if (settings === undefined) {
    return;
  }
  const { method, feeConstant } = settings;
  const isConstant = method === LiquidityFeeSettings_Method.CONSTANT;
  yield* requiredEnum(at.field("method"), method, LiquidityFeeSettings_Method);
  if (feeConstant === undefined) {
    if (isConstant) {
      yield at.field("feeConstant").problem(MESSAGE.required);
    }
    return;
  }
  if (!isConstant) {
    yield at.field("method").problem(MESSAGE.notValid);
  }
  yield* decimalRule(at.field("feeConstant"), feeConstant, (fee) => positiveOrZero(fee) ?? from0To1(fee));
}

/** The risk parameters of a market. */
type RiskParameters =
  | { readonly case: "simple"; readonly value: SimpleModelParams }
  | { readonly case: "logNormal"; readonly value: LogNormalRiskModel }
  | { readonly case: undefined };

/** A number of the log-normal model, and the range that a new market has to keep it in. */
const RANGES = {
  riskAversionParameter: [1e-8, 0.1, "must be between [1e-8, 0.1]"],
  tau: [1e-8, 1, "must be between [1e-8, 1]"],
  mu: [-1e-6, 1e-6, "must be between [-1e-6,1e-6]"],
  sigma: [1e-3, 50, "must be between [1e-3,50]"],
  r: [-1, 1, "must be between [-1,1]"],
} as const;

/**
 * Checks the risk parameters of a market (`commands/proposal_submission.go`).
 *
 * @param risk the parameters
 * @param changes the field of the market's configuration
 * @param market whether the market is new, and whether it may override its risk factors, which spot markets may not
 */
export function* riskProblems(
  risk: RiskParameters,
  changes: Field,
  { isNew, overrides }: { readonly isNew: boolean; readonly overrides: boolean },
): NetworkProblems {
  if (risk.case === undefined) {
    yield changes.field("riskParameters").problem(MESSAGE.required);
    return;
  }
  const at = changes.field(risk.case).named(changes.field("riskParameters").field(risk.case).property);
  if (risk.case === "simple") {
    yield* simpleProblems(risk.value, at);
    return;
  }
  const problem = logNormalProblem(risk.value, at, isNew ? isOutOfRange : isNotPositive);
  if (problem !== undefined) {
    yield problem;
  } else if (overrides && risk.value.riskFactorOverride !== undefined) {
    yield* overrideProblems(risk.value.riskFactorOverride, at.field("riskFactorOverride"), isNew);
  }
}

function* simpleProblems(
  { minMoveDown, maxMoveUp, probabilityOfTrading }: SimpleModelParams,
  at: Field,
): NetworkProblems {
  if (minMoveDown > 0) {
    yield at.field("minMoveDown").problem(MESSAGE.negativeOrZero);
  }
  if (maxMoveUp < 0) {
    yield at.field("maxMoveUp").problem(MESSAGE.positiveOrZero);
  }
  if (probabilityOfTrading < 0 || probabilityOfTrading > 1) {
    yield at.field("probabilityOfTrading").problem("should be between 0 (inclusive) and 1 (inclusive)");
  }
}

/** Finds the first problem of the log-normal model: the network stops there. */
function logNormalProblem(
  { riskAversionParameter, tau, params }: LogNormalRiskModel,
  at: Field,
  refuse: (name: keyof typeof RANGES, value: number) => string | undefined,
): NetworkProblem | undefined {
  if (params === undefined) {
    return at.field("params").problem(MESSAGE.required);
  }
  const numbers = { riskAversionParameter, tau } as const;
  for (const name of ["riskAversionParameter", "tau"] as const) {
    const message = refuse(name, numbers[name]);
    if (message !== undefined) {
      return at.field(name).problem(message);
    }
  }
  for (const name of ["mu", "sigma", "r"] as const) {
    const message = Number.isNaN(params[name]) ? MESSAGE.notANumber : refuse(name, params[name]);
    if (message !== undefined) {
      return at.field("params").field(name).problem(message);
    }
  }
  return undefined;
}

function isOutOfRange(name: keyof typeof RANGES, value: number): string | undefined {
  const [least, most, message] = RANGES[name];
  return value < least || value > most ? message : undefined;
}

function isNotPositive(name: keyof typeof RANGES, value: number): string | undefined {
  return name !== "mu" && name !== "r" && value <= 0 ? MESSAGE.positive : undefined;
}

function* overrideProblems(override: RiskFactorOverride, at: Field, isNew: boolean): NetworkProblems {
  for (const name of ["short", "long"] as const) {
    if (!isNew && override[name] === "") {
      yield at.field(name).problem(MESSAGE.required);
      yield* decimalRule(at.field(name), "", positiveDecimal);
      continue;
    }
    yield* requiredDecimal(at.field(name), override[name], positiveDecimal);
    if (override[name] === "") {
      return; // Of a new market, the network looks no further.
    }
  }
}
