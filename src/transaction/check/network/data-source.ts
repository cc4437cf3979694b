import { Condition_Operator, PropertyKey_Type } from "../../../../gen/client/vega/data/v1/spec_pb.js";
import { CompositePriceType } from "../../../../gen/client/vega/markets_pb.js";
import type { Signer } from "../../../../gen/vega/data/v1/data_pb.js";
import type { Condition, Filter } from "../../../../gen/vega/data/v1/spec_pb.js";
import type {
  DataSourceDefinition,
  DataSourceSpecConfigurationTimeTrigger,
  EthCallSpec,
} from "../../../../gen/vega/data_source_pb.js";
import type { CompositePriceConfiguration } from "../../../../gen/vega/markets_pb.js";
import { ethereumCallProblems } from "./ethereum-call.js";
import { decimal, isDuration, isNegative, signOf, uint256 } from "./go-numbers.js";
import {
  type Field,
  from0To1,
  isEthereumAddress,
  isId,
  MESSAGE,
  type NetworkProblems,
  required,
  requiredDecimal,
  requiredEnum,
} from "./network-rules.js";

/** The properties that the network's own data sources have (`protos/vega/spec_definition.go`). */
const INTERNAL_PROPERTY = {
  time: "vegaprotocol.builtin.timestamp",
  timeTrigger: "vegaprotocol.builtin.timetrigger",
} as const;

/**
 * Checks the definition of a data source (`checkDataSourceSpec` in `commands/proposal_submission.go`).
 *
 * @param definition the data source
 * @param at its field
 * @param settles whether it provides settlement data, which a time trigger alone cannot
 * @param isOfFuture whether the network treats it as a source of a future, which has no time triggers
 */
export function* dataSourceProblems(
  definition: DataSourceDefinition | undefined,
  at: Field,
  { settles, isOfFuture }: { readonly settles: boolean; readonly isOfFuture: boolean },
): NetworkProblems {
  if (definition === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  const { sourceType } = definition;
  if (sourceType.case === undefined) {
    yield at.field("sourceType").problem(MESSAGE.required);
  } else if (sourceType.case === "internal") {
    const { sourceType: source } = sourceType.value;
    const internal = at.field("internal");
    if (source.case === "time" && settles) {
      yield at.problem(MESSAGE.notValid);
    } else if (source.case === "time") {
      yield* required(internal.field("time").field("conditions"), source.value.conditions);
      yield* conditionProblems(source.value.conditions, internal.field("time").field("conditions"));
    } else if (source.case === "timeTrigger") {
      yield* timeTriggerProblems(source.value, internal.field("timeTrigger", "timetrigger"), isOfFuture);
    }
  } else {
    const { sourceType: source } = sourceType.value;
    const external = at.field("external");
    if (source.case === "oracle") {
      const { signers, filters } = source.value;
      yield* required(external.field("oracle").field("signers"), signers);
      for (const [index, signer] of signers.entries()) {
        yield* signerProblems(signer, external.field("oracle").field("signers").item(index));
      }
      yield* filterProblems(filters, external.field("oracle").field("filters"));
    } else if (source.case === "ethOracle") {
      yield* ethereumOracleProblems(source.value, external.field("ethOracle", "ethoracle"));
    }
  }
}

/**
 * Returns whether a data source has a property that a binding names.
 *
 * @param definition the data source
 * @param property the property's name
 */
export function hasProperty(definition: DataSourceDefinition | undefined, property: string): boolean {
  const source = definition?.sourceType.value?.sourceType;
  switch (source?.case) {
    case "oracle":
      return source.value.filters.some(({ key }) => key?.name === property);
    case "ethOracle":
      return (
        source.value.normalisers.some(({ name }) => name === property) ||
        source.value.filters.some(({ key }) => key?.name === property)
      );
    case "time":
    case "timeTrigger":
      return source.value.conditions.length > 0 && INTERNAL_PROPERTY[source.case] === property;
    default:
      return false;
  }
}

function* timeTriggerProblems(
  { triggers }: DataSourceSpecConfigurationTimeTrigger,
  at: Field,
  isOfFuture: boolean,
): NetworkProblems {
  if (isOfFuture) {
    yield at.problem(MESSAGE.notValid);
  }
  const [trigger] = triggers;
  if (trigger === undefined || triggers.length > 1) {
    yield at.problem("maximum one time trigger allowed");
    return;
  }
  const only = at.field("triggers").item(0);
  if (trigger.initial !== undefined && trigger.initial <= 0n) {
    yield only.field("initial").problem(MESSAGE.notValid);
  }
  if (trigger.every <= 0n) {
    yield only.field("every").problem(MESSAGE.notValid);
  }
}

function* signerProblems({ signer }: Signer, at: Field): NetworkProblems {
  if (signer.case === "pubKey" && signer.value.key !== "") {
    if (!isId(signer.value.key)) {
      yield at.problem("is not a valid vega public key");
    }
  } else if (signer.case === "ethAddress" && signer.value.address !== "") {
    if (!isEthereumAddress(signer.value.address)) {
      yield at.problem(MESSAGE.ethereumAddress);
    }
  } else {
    yield at.problem(MESSAGE.notValid);
  }
}

function* ethereumOracleProblems(call: EthCallSpec, at: Field): NetworkProblems {
  if (!isEthereumAddress(call.address)) {
    yield at.field("address").problem(MESSAGE.ethereumAddress);
  }
  yield* ethereumCallProblems(call, at);
  yield* filterProblems(call.filters, at.field("filters"));
  yield* required(at.field("abi"), call.abi);
  yield* required(at.field("method"), call.method.trim());
  yield* required(at.field("normalisers"), call.normalisers);
  if (call.trigger === undefined) {
    yield at.field("trigger").problem(MESSAGE.required);
  }
}

function* filterProblems(filters: readonly Filter[], at: Field): NetworkProblems {
  yield* required(at, filters);
  for (const [index, { key, conditions }] of filters.entries()) {
    const filter = at.item(index);
    if (key === undefined) {
      yield filter.field("key").problem(MESSAGE.notValid);
    } else {
      yield* required(filter.field("key").field("name"), key.name);
      yield* requiredEnum(filter.field("key").field("type"), key.type, PropertyKey_Type);
    }
    yield* conditionProblems(conditions, filter.field("conditions"));
  }
}

function* conditionProblems(conditions: readonly Condition[], at: Field): NetworkProblems {
  for (const [index, { value, operator }] of conditions.entries()) {
    yield* required(at.item(index).field("value"), value);
    yield* requiredEnum(at.item(index).field("operator"), operator, Condition_Operator);
  }
}

/** How many sources a composite price has besides its oracles. */
const OWN_SOURCES = 3;

const NOT_FOR_LAST_TRADE = "must not be defined for price type last trade";

/**
 * Checks how a market computes a price from several sources (`checkCompositePriceConfiguration` in
 * `commands/proposal_submission.go`).
 *
 * @param config the configuration
 * @param at its field
 */
export function* compositePriceProblems(config: CompositePriceConfiguration | undefined, at: Field): NetworkProblems {
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

function* decayProblems(
  { decayPower, decayWeight, cashAmount }: CompositePriceConfiguration,
  at: Field,
): NetworkProblems {
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

function* lastTradeProblems(config: CompositePriceConfiguration, at: Field): NetworkProblems {
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

function* weightProblems(config: CompositePriceConfiguration, at: Field): NetworkProblems {
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

function* sourceProblems(config: CompositePriceConfiguration, at: Field): NetworkProblems {
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
