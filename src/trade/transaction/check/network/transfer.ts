import {
  AccountType,
  DispatchMetric,
  DistributionStrategy,
  EntityScope,
  IndividualScope,
} from "../../../../../gen/client/vega/vega_pb.js";
import type { Transfer } from "../../../../../gen/vega/commands/v1/commands_pb.js";
import type { DispatchStrategy } from "../../../../../gen/vega/vega_pb.js";
import { floatSign, integer } from "./go-numbers.js";
import {
  above0To1,
  atMostBytes,
  decimalRule,
  type Field,
  isId,
  MESSAGE,
  type NetworkProblems,
  positiveDecimal,
  requiredId,
  requiredInteger,
} from "./network-rules.js";

const { GENERAL, GLOBAL_REWARD, NETWORK_TREASURY, UNSPECIFIED, VESTED_REWARDS } = AccountType;

/** The receiver of what goes to an account of the network. */
const NETWORK = "0".repeat(64);

/** Checks a transfer (`commands/transfer_funds.go`). */
export function* transferProblems(transfer: Transfer, at: Field): NetworkProblems {
  const { to, toAccountType, fromAccountType } = transfer;
  yield* requiredInteger(
    at.field("amount"),
    transfer.amount,
    (amount) => (amount === 0n ? MESSAGE.required : amount < 0n ? MESSAGE.positive : undefined),
    MESSAGE.notAnInteger,
  );
  yield* requiredId(at.field("to"), to, MESSAGE.publicKey);
  const isKnown = toAccountType !== UNSPECIFIED && AccountType[toAccountType] !== undefined;
  if (!isKnown || (toAccountType === GLOBAL_REWARD && to !== NETWORK)) {
    yield at.field("toAccountType").problem(MESSAGE.notValid);
  }
  if (fromAccountType !== GENERAL && fromAccountType !== VESTED_REWARDS) {
    yield at.field("fromAccountType").problem(MESSAGE.notValid);
  }
  yield* requiredId(at.field("asset"), transfer.asset);
  yield* atMostBytes(at.field("reference"), transfer.reference, 100, "must be less than 100 characters");
  yield* derivedKeyProblems(transfer, at.field("from"));
  yield* kindProblems(transfer, at);
}

function* derivedKeyProblems({ from, fromAccountType, toAccountType }: Transfer, at: Field): NetworkProblems {
  if (from === undefined) {
    return;
  }
  if (!isId(from)) {
    yield at.problem(MESSAGE.publicKey);
  }
  if (fromAccountType !== VESTED_REWARDS) {
    yield at.problem("from can only be set for vested rewards");
  }
  if (toAccountType !== GENERAL) {
    yield at.problem("from can only be set when transferring to general account");
  }
}

function* kindProblems({ kind, fromAccountType, toAccountType }: Transfer, at: Field): NetworkProblems {
  const account = at.field("toAccountType").named(`${at.property}.account.to`);
  if (kind.case === undefined) {
    yield at.field("kind").problem(MESSAGE.required);
    return;
  }
  const field = at.field(kind.case).named(at.field("kind").property);
  if (kind.case === "oneOff") {
    if (![GLOBAL_REWARD, GENERAL, UNSPECIFIED, NETWORK_TREASURY].includes(toAccountType)) {
      yield at.field("toAccountType").problem("account type is not valid for one off transfer");
    }
    if (kind.value.deliverOn < 0n) {
      yield field.field("deliverOn").problem(MESSAGE.positiveOrZero);
    }
    if (isMetricAccount(toAccountType)) {
      const message =
        "transfers to metric-based reward accounts must be recurring transfers that specify a distribution metric";
      yield account.problem(message);
    }
    return;
  }
  const { startEpoch, endEpoch, factor, dispatchStrategy } = kind.value;
  if (fromAccountType === VESTED_REWARDS) {
    yield at.field("fromAccountType").problem("account type is not valid for one recurring transfer");
  }
  if (endEpoch === 0n) {
    yield field.field("endEpoch").problem(MESSAGE.positive);
  }
  if (startEpoch === 0n) {
    yield field.field("startEpoch").problem(MESSAGE.positive);
  }
  if (endEpoch !== undefined && startEpoch > endEpoch) {
    yield field.field("endEpoch").problem("must be after start_epoch");
  }
  yield* factorProblems(factor, field.field("factor"));
  if (dispatchStrategy !== undefined) {
    yield* dispatchStrategyProblems(dispatchStrategy, toAccountType, field.field("dispatchStrategy"), account);
  } else if (isMetricAccount(toAccountType)) {
    yield field.field("dispatchStrategy").problem(MESSAGE.required);
  }
}

const { REWARD_ELIGIBLE_ENTITIES, REWARD_MARKET_PROPOSERS, REWARD_VALIDATOR_RANKING } = AccountType;

/** The accounts for rewards by a metric, and their metrics. */
const METRICS: ReadonlyMap<AccountType, DispatchMetric> = new Map([
  [AccountType.REWARD_LP_RECEIVED_FEES, DispatchMetric.LP_FEES_RECEIVED],
  [AccountType.REWARD_MAKER_RECEIVED_FEES, DispatchMetric.MAKER_FEES_RECEIVED],
  [AccountType.REWARD_MAKER_PAID_FEES, DispatchMetric.MAKER_FEES_PAID],
  [REWARD_MARKET_PROPOSERS, DispatchMetric.MARKET_VALUE],
  [AccountType.REWARD_AVERAGE_NOTIONAL, DispatchMetric.AVERAGE_NOTIONAL],
  [REWARD_ELIGIBLE_ENTITIES, DispatchMetric.ELIGIBLE_ENTITIES],
  [AccountType.REWARD_RELATIVE_RETURN, DispatchMetric.RELATIVE_RETURN],
  [AccountType.REWARD_REALISED_RETURN, DispatchMetric.REALISED_RETURN],
  [AccountType.REWARD_RETURN_VOLATILITY, DispatchMetric.RETURN_VOLATILITY],
  [REWARD_VALIDATOR_RANKING, DispatchMetric.VALIDATOR_RANKING],
]);

/** Returns whether an account is for metric-based rewards, which only recurring transfers with a strategy can fund. */
function isMetricAccount(type: AccountType): boolean {
  return METRICS.has(type);
}

/** Returns an enumeration's value as the network writes it: its name, or its number if it is not known. */
function nameOf(prefix: string, values: Readonly<Record<number, string>>, value: number): string {
  const name = values[value];
  return name === undefined ? String(value) : `${prefix}_${name}`;
}

const accountName = (type: AccountType) => nameOf("ACCOUNT_TYPE", AccountType, type);
const metricName = (metric: DispatchMetric) => nameOf("DISPATCH_METRIC", DispatchMetric, metric);
const scopeName = (scope: EntityScope) => nameOf("ENTITY_SCOPE", EntityScope, scope);
const distributionName = (strategy: DistributionStrategy) =>
  nameOf("DISTRIBUTION_STRATEGY", DistributionStrategy, strategy);

/** Checks how a recurring transfer distributes rewards (`validateDispatchStrategy` in `commands/transfer_funds.go`). */
function* dispatchStrategyProblems(
  strategy: DispatchStrategy,
  to: AccountType,
  at: Field,
  destination: Field,
): NetworkProblems {
  if (!isMetricAccount(to)) {
    yield destination.problem(MESSAGE.notValid);
  }
  yield* assetProblems(strategy, to, at.field("assetForMetric"));
  yield* metricProblems(strategy, to, at.field("metric", "dispatch_metric"));
  yield* scopeProblems(strategy, to, at);
  yield* distributionProblems(strategy, to, at);
  yield* requirementProblems(strategy, to, at);
  yield* windowProblems(strategy, to, at);
  yield* rankProblems(strategy, at);
}

function* assetProblems(strategy: DispatchStrategy, to: AccountType, at: Field): NetworkProblems {
  const { assetForMetric: asset, metric, notionalTimeWeightedAveragePositionRequirement: position } = strategy;
  const needsNone = [REWARD_ELIGIBLE_ENTITIES, REWARD_MARKET_PROPOSERS, REWARD_VALIDATOR_RANKING].includes(to);
  if (asset === "" && !needsNone) {
    yield at.problem(MESSAGE.required);
  }
  if (asset !== "" && !isId(asset)) {
    yield at.problem(MESSAGE.id);
  }
  if (asset !== "" && to === REWARD_VALIDATOR_RANKING) {
    yield at.problem("not be specified when to_account type is VALIDATOR_RANKING");
  }
  if (metric === DispatchMetric.ELIGIBLE_ENTITIES && position !== "" && asset === "") {
    yield at.problem(
      "asset for metric must be provided if NotionalTimeWeightedAveragePositionRequirement is specified",
    );
  }
}

function* metricProblems(strategy: DispatchStrategy, to: AccountType, at: Field): NetworkProblems {
  const { metric } = strategy;
  const expected = METRICS.get(to);
  if (expected !== undefined && metric !== expected) {
    yield at.problem(
      `cannot set toAccountType to ${accountName(to)} when dispatch metric is set to ${metricName(metric)}`,
    );
  }
  const { assetForMetric, markets, stakingRequirement, notionalTimeWeightedAveragePositionRequirement } = strategy;
  const limits = [assetForMetric, markets, stakingRequirement, notionalTimeWeightedAveragePositionRequirement];
  if (metric === DispatchMetric.ELIGIBLE_ENTITIES && limits.every(({ length }) => length === 0)) {
    yield at.problem(
      "eligible_entities metric requires at least one of (markets, asset_for_metric, staking_requirement, notional_time_weighted_average_position_requirement) to be defined",
    );
  }
}

function* scopeProblems(strategy: DispatchStrategy, to: AccountType, at: Field): NetworkProblems {
  const { entityScope, individualScope, teamScope, nTopPerformers } = strategy;
  const isTeams = entityScope === EntityScope.TEAMS;
  const isIndividuals = entityScope === EntityScope.INDIVIDUALS;
  const top = at.field("nTopPerformers");
  if (entityScope === EntityScope.UNSPECIFIED) {
    yield at.field("entityScope").problem(MESSAGE.required);
  }
  if (isTeams && to === REWARD_MARKET_PROPOSERS) {
    yield at.field("entityScope").problem(`${scopeName(entityScope)} is not allowed for ${accountName(to)}`);
  }
  if (isTeams && nTopPerformers === "") {
    yield top.problem(MESSAGE.required);
  } else if (isTeams) {
    yield* decimalRule(top, nTopPerformers, above0To1);
  } else if (nTopPerformers !== "") {
    yield top.problem(`must not be set when entity scope is not ${scopeName(EntityScope.TEAMS)}`);
  }
  const hasIndividuals = individualScope !== IndividualScope.UNSPECIFIED;
  if (isIndividuals && !hasIndividuals) {
    yield at.field("individualScope").problem(MESSAGE.required);
  }
  const notWithScope = `should not be set when entity_scope is set to ${scopeName(entityScope)}`;
  if (isIndividuals && teamScope.length > 0) {
    yield at.field("teamScope").problem(notWithScope);
  }
  if (!isIndividuals && hasIndividuals) {
    yield at.field("individualScope").problem(notWithScope);
  }
}

function* distributionProblems(
  { distributionStrategy }: DispatchStrategy,
  to: AccountType,
  strategy: Field,
): NetworkProblems {
  const at = strategy.field("distributionStrategy");
  const isUnspecified = distributionStrategy === DistributionStrategy.UNSPECIFIED;
  if (isUnspecified && to !== REWARD_MARKET_PROPOSERS) {
    yield at.problem(MESSAGE.required);
  }
  if (!isUnspecified && to === REWARD_MARKET_PROPOSERS) {
    yield at.problem(`should not be set when to_account is set to ${accountName(to)}`);
  }
}

function* requirementProblems(strategy: DispatchStrategy, to: AccountType, at: Field): NetworkProblems {
  const names = ["stakingRequirement", "notionalTimeWeightedAveragePositionRequirement"] as const;
  for (const name of names) {
    const amount = integer(strategy[name]);
    if (strategy[name] === "") {
      continue;
    }
    if (to === REWARD_VALIDATOR_RANKING || to === REWARD_MARKET_PROPOSERS) {
      yield at.field(name).problem(`should not be set if to_account is set to ${accountName(to)}`);
    } else if (amount === undefined) {
      yield at.field(name).problem(MESSAGE.notAnInteger);
    } else if (amount < 0n) {
      yield at.field(name).problem(MESSAGE.positiveOrZero);
    }
  }
}

function* windowProblems(strategy: DispatchStrategy, to: AccountType, at: Field): NetworkProblems {
  const { windowLength, transferInterval, capRewardFeeMultiple } = strategy;
  const window = at.field("windowLength");
  if (windowLength > 0n && to === REWARD_MARKET_PROPOSERS) {
    yield window.problem(`should not be set for ${accountName(to)}`);
  }
  if (windowLength === 0n && to !== REWARD_MARKET_PROPOSERS) {
    yield window.problem("must be between 1 and 100");
  }
  if (windowLength > 100n) {
    yield window.problem(MESSAGE.atMost100);
  }
  if (capRewardFeeMultiple !== undefined && capRewardFeeMultiple !== "") {
    yield* decimalRule(at.field("capRewardFeeMultiple"), capRewardFeeMultiple, positiveDecimal);
  }
  if (transferInterval !== undefined && (transferInterval <= 0 || transferInterval > 100)) {
    yield at.field("transferInterval").problem("must be between 1 and 100");
  }
}

function* rankProblems({ rankTable, distributionStrategy }: DispatchStrategy, strategy: Field): NetworkProblems {
  const at = strategy.field("rankTable");
  const { RANK, RANK_LOTTERY } = DistributionStrategy;
  const isByRank = distributionStrategy === RANK || distributionStrategy === RANK_LOTTERY;
  if (rankTable.length === 0 && isByRank) {
    yield at.problem(MESSAGE.positive);
  }
  if (rankTable.length > 0 && !isByRank) {
    yield at.problem(`should not be set for distribution strategy ${distributionName(distributionStrategy)}`);
  }
  if (rankTable.length > 500) {
    yield at.problem("must be at most 500");
  }
  const wrong = rankTable.findIndex(
    ({ startRank }, index) => index > 0 && startRank <= (rankTable[index - 1]?.startRank ?? 0),
  );
  if (wrong > 0) {
    // The network's name of the element is the output of a wrong format string.
    yield at
      .item(wrong)
      .field("startRank")
      .named(`${at.property}.%!i(int=${wrong}).start_rank`)
      .problem(`must be greater than start_rank of element #${wrong - 1}`);
  }
}

/** Checks the factor of a recurring transfer: a floating-point number above 0. */
function* factorProblems(factor: string, at: Field): NetworkProblems {
  const sign = floatSign(factor);
  if (sign === undefined) {
    yield at.problem(MESSAGE.notAFloat);
  } else if (sign <= 0) {
    yield at.problem(MESSAGE.positive);
  }
}
