import { CompositePriceType } from "../../../../gen/client/vega/markets_pb.js";
import type { CompositePriceConfiguration } from "../../../../gen/vega/markets_pb.js";
import { dataSourceProblems, hasProperty } from "./data-source.js";
import type { Field, NetworkProblem } from "./field.js";
import { decimal, isDuration, isNegative, signOf, uint256 } from "./numbers.js";
import { from0To1, MESSAGE, required, requiredDecimal, requiredEnum } from "./rules.js";

type Problems = Generator<NetworkProblem>;

/** How many sources a composite price has besides its oracles. */
const OWN_SOURCES = 3;

const NOT_FOR_LAST_TRADE = "must not be defined for price type last trade";

/**
 * Checks how a market makes a price of several sources (`checkCompositePriceConfiguration` in
 * `commands/proposal_submission.go`).
 *
 * @param config the configuration
 * @param at its field
 */
export function* compositePriceProblems(config: CompositePriceConfiguration | undefined, at: Field): Problems {
  if (config === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  yield* requiredEnum(at.field("compositePriceType"), config.compositePriceType, CompositePriceType);
  if (config.compositePriceType === CompositePriceType.LAST_TRADE) {
    yield* lastTradeProblems(config, at);
  } else {
    yield* decayProblems(config, at);
  }
  yield* weightProblems(config, at);
  yield* sourceProblems(config, at);
}

function* decayProblems({ decayPower, decayWeight, cashAmount }: CompositePriceConfiguration, at: Field): Problems {
  if (decayPower > 3n || decayPower < 1n) {
    yield at.field("decayPower").problem("must be in {1, 2, 3}");
  }
  yield* requiredDecimal(at.field("decayWeight"), decayWeight, from0To1);
  yield* required(at.field("cashAmount"), cashAmount);
  const cash = uint256(cashAmount);
  if (cashAmount !== "" && (cash === undefined || isNegative(cash))) {
    yield at.field("cashAmount").problem(MESSAGE.notANumber);
  }
}

function* lastTradeProblems(config: CompositePriceConfiguration, at: Field): Problems {
  if (config.decayPower !== 0n) {
    yield at.field("decayPower").problem(NOT_FOR_LAST_TRADE);
  }
  const fields = ["decayWeight", "cashAmount", "sourceStalenessTolerance", "sourceWeights", "dataSourcesSpec"] as const;
  for (const name of fields) {
    if (config[name].length > 0) {
      yield at.field(name).problem(NOT_FOR_LAST_TRADE);
    }
  }
  if (config.dataSourcesSpec.length > 0) {
    yield at.field("dataSourcesSpecBinding").problem(NOT_FOR_LAST_TRADE);
  }
}

function* weightProblems(config: CompositePriceConfiguration, at: Field): Problems {
  const { sourceWeights, sourceStalenessTolerance, dataSourcesSpec } = config;
  const isWeighted = config.compositePriceType === CompositePriceType.WEIGHTED;
  const weights = at.field("sourceWeights");
  if (!isWeighted && sourceWeights.length > 0) {
    yield weights.problem("must be empty if composite price type is not weighted");
  }
  if (isWeighted && sourceWeights.length !== OWN_SOURCES + dataSourcesSpec.length) {
    yield weights.problem("must be defined for all price sources");
  }
  if (isWeighted && sourceWeights.length !== sourceStalenessTolerance.length) {
    yield at.field("sourceStalenessTolerance").problem("must have the same length as source_weights");
  }
  let hasWeight = false;
  for (const [index, text] of sourceWeights.entries()) {
    const weight = decimal(text);
    if (weight === undefined) {
      yield weights.item(index).problem(MESSAGE.notANumber);
    } else if (signOf(weight) < 0) {
      yield weights.item(index).problem(MESSAGE.positiveOrZero);
    } else if (signOf(weight) > 0) {
      hasWeight = true;
    }
  }
  if (isWeighted && !hasWeight) {
    yield weights.problem("must have at least one none zero weight");
  }
}

function* sourceProblems(config: CompositePriceConfiguration, at: Field): Problems {
  const { compositePriceType, sourceStalenessTolerance, dataSourcesSpec, dataSourcesSpecBinding } = config;
  const isLastTrade = compositePriceType === CompositePriceType.LAST_TRADE;
  const [tolerance, specs, bindings] = [
    at.field("sourceStalenessTolerance"),
    at.field("dataSourcesSpec"),
    at.field("dataSourcesSpecBinding"),
  ];
  for (const [index, text] of sourceStalenessTolerance.entries()) {
    if (!isDuration(text)) {
      yield tolerance.item(index).problem("must be a valid duration");
    }
  }
  const areBound = dataSourcesSpec.length === dataSourcesSpecBinding.length;
  if (dataSourcesSpec.length > 0 && !areBound) {
    yield specs.problem("must be have the same number of elements as the corresponding bindings");
  }
  if (dataSourcesSpec.length > 5) {
    yield specs.problem("too many data source specs - must be less than or equal to 5");
  }
  if (!isLastTrade && sourceStalenessTolerance.length !== OWN_SOURCES + dataSourcesSpec.length) {
    yield tolerance.problem("must included staleness information for all price sources");
  }
  if (isLastTrade && dataSourcesSpec.length > 0) {
    yield specs.problem("are not supported for last trade composite price type");
  }
  if (!areBound) {
    yield bindings.problem("must be defined for all oracles");
    return;
  }
  for (const [index, definition] of dataSourcesSpec.entries()) {
    yield* dataSourceProblems(definition, specs.item(index), { settles: true, isOfFuture: false });
    const { priceSourceProperty = "" } = dataSourcesSpecBinding[index] ?? {};
    if (priceSourceProperty === "") {
      yield bindings.item(index).problem(MESSAGE.required);
    } else if (!hasProperty(definition, priceSourceProperty)) {
      yield bindings.item(index).field("priceSourceProperty").problem(MESSAGE.mismatching);
    }
  }
}
