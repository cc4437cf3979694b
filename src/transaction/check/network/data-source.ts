import { Condition_Operator, PropertyKey_Type } from "../../../../gen/client/vega/data/v1/spec_pb.js";
import type { Signer } from "../../../../gen/vega/data/v1/data_pb.js";
import type { Condition, Filter } from "../../../../gen/vega/data/v1/spec_pb.js";
import type {
  DataSourceDefinition,
  DataSourceSpecConfigurationTimeTrigger,
  EthCallSpec,
} from "../../../../gen/vega/data_source_pb.js";
import { ethereumCallProblems } from "./ethereum-call.js";
import type { Field, NetworkProblem } from "./field.js";
import { isEthereumAddress, isId, MESSAGE, required, requiredEnum } from "./rules.js";

type Problems = Generator<NetworkProblem>;

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
 * @param settles whether it gives the data for a settlement, which the time alone cannot
 * @param isOfFuture whether the network takes it for a source of a future, which has no time triggers
 */
export function* dataSourceProblems(
  definition: DataSourceDefinition | undefined,
  at: Field,
  { settles, isOfFuture }: { readonly settles: boolean; readonly isOfFuture: boolean },
): Problems {
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
 * Tells whether a data source has a property that a binding names.
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
): Problems {
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

function* signerProblems({ signer }: Signer, at: Field): Problems {
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

function* ethereumOracleProblems(call: EthCallSpec, at: Field): Problems {
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

function* filterProblems(filters: readonly Filter[], at: Field): Problems {
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

function* conditionProblems(conditions: readonly Condition[], at: Field): Problems {
  for (const [index, { value, operator }] of conditions.entries()) {
    yield* required(at.item(index).field("value"), value);
    yield* requiredEnum(at.item(index).field("operator"), operator, Condition_Operator);
  }
}
