import { MarketStateUpdateType } from "../../../../gen/client/vega/governance_pb.js";
import { AccountType } from "../../../../gen/client/vega/vega_pb.js";
import type {
  NewTransferConfiguration,
  RecurringTransfer,
  UpdateMarketStateConfiguration,
} from "../../../../gen/vega/governance_pb.js";
import { dispatchStrategyProblems, isMetricAccount } from "./dispatch-strategy.js";
import type { Field, NetworkProblem } from "./field.js";
import { compare, decimal, floatSign, isNegative, signOf, uint256 } from "./numbers.js";
import { isId, MESSAGE, ONE } from "./rules.js";

type Problems = Generator<NetworkProblem>;

const { GENERAL, GLOBAL_INSURANCE, GLOBAL_REWARD, INSURANCE, NETWORK_TREASURY } = AccountType;

/** The accounts besides those for rewards by a metric that a governance transfer goes to, by the one it comes from. */
const DESTINATIONS: ReadonlyMap<AccountType, readonly AccountType[]> = new Map([
  [NETWORK_TREASURY, [GENERAL, GLOBAL_INSURANCE, INSURANCE, GLOBAL_REWARD]],
  [INSURANCE, [GENERAL, GLOBAL_INSURANCE, INSURANCE, NETWORK_TREASURY, GLOBAL_REWARD]],
  [GLOBAL_INSURANCE, [GENERAL, INSURANCE, NETWORK_TREASURY, GLOBAL_REWARD]],
]);

/** Checks a transfer by governance (`checkNewTransferConfiguration` in `commands/proposal_submission.go`). */
export function* governanceTransferProblems(transfer: NewTransferConfiguration, at: Field): Problems {
  const account = accountProblem(transfer, at);
  if (account !== undefined) {
    yield account;
    return;
  }
  const { destinationType, destination } = transfer;
  const to = at.field("destination");
  if (destinationType === GENERAL && !isId(destination)) {
    yield to.problem(MESSAGE.publicKey);
  }
  const problem = sourceProblem(transfer, at) ?? amountProblem(transfer, at);
  if (problem !== undefined) {
    yield problem;
    return;
  }
  const { kind } = transfer;
  if (kind.case === "oneOff") {
    if (isMetricAccount(destinationType)) {
      yield at.field("destinationType").problem(MESSAGE.notValid);
    }
    if (kind.value.deliverOn < 0n) {
      const property = `${at.property}.oneoff.deliveron`;
      yield at.field("oneOff").field("deliverOn").named(property).problem(MESSAGE.positiveOrZero);
    }
  } else if (kind.case === "recurring") {
    yield* recurringProblems(kind.value, transfer, at);
  } else {
    yield at.field("kind").problem(MESSAGE.required);
  }
}

function accountProblem({ sourceType, destinationType }: NewTransferConfiguration, at: Field) {
  const allowed = DESTINATIONS.get(sourceType);
  if (allowed === undefined) {
    const message = sourceType === AccountType.UNSPECIFIED ? MESSAGE.required : MESSAGE.notValid;
    return at.field("sourceType").problem(message);
  }
  if (allowed.includes(destinationType) || isMetricAccount(destinationType)) {
    return undefined;
  }
  const message = destinationType === AccountType.UNSPECIFIED ? MESSAGE.required : MESSAGE.notValid;
  return at.field("destinationType").problem(message);
}

function sourceProblem(transfer: NewTransferConfiguration, at: Field): NetworkProblem | undefined {
  const { sourceType, source, destinationType, destination } = transfer;
  if ((sourceType === INSURANCE) === (source === "")) {
    return at.field("source").problem(MESSAGE.notValid);
  }
  const isToItself = sourceType === INSURANCE && destinationType === INSURANCE && source === destination;
  const isOfOne = destinationType === GENERAL || destinationType === INSURANCE;
  return isToItself || (isOfOne && destination === "") ? at.field("destination").problem(MESSAGE.notValid) : undefined;
}

function amountProblem(transfer: NewTransferConfiguration, at: Field): NetworkProblem | undefined {
  if (transfer.transferType === 0) {
    return at.field("transferType").problem(MESSAGE.required);
  }
  const amount = uint256(transfer.amount);
  if (amount === undefined || isNegative(amount)) {
    return at.field("amount").problem(transfer.amount === "" ? MESSAGE.required : MESSAGE.notValid);
  }
  if (transfer.asset === "") {
    return at.field("asset").problem(MESSAGE.required);
  }
  const fraction = decimal(transfer.fractionOfBalance);
  const share = at.field("fractionOfBalance");
  if (fraction === undefined) {
    return share.problem(transfer.fractionOfBalance === "" ? MESSAGE.required : MESSAGE.notValid);
  }
  if (signOf(fraction) <= 0) {
    return share.problem(MESSAGE.positive);
  }
  return compare(fraction, ONE) > 0 ? share.problem("must be less than or equal to 1") : undefined;
}

function* recurringProblems(
  { startEpoch, endEpoch, factor, dispatchStrategy }: RecurringTransfer,
  { destination, destinationType }: NewTransferConfiguration,
  at: Field,
): Problems {
  const recurring = at.field("recurring");
  if (endEpoch !== undefined && endEpoch < startEpoch) {
    yield recurring.field("endEpoch").problem(MESSAGE.notValid);
    return;
  }
  yield* factorProblems(factor, recurring.field("factor"));
  if (dispatchStrategy !== undefined) {
    if (destination !== "") {
      yield at.field("destination").problem(MESSAGE.notValid);
    }
    const field = recurring.field("dispatchStrategy");
    yield* dispatchStrategyProblems(dispatchStrategy, destinationType, field, at.field("destinationType"));
  }
}

/** Checks the factor of a recurring transfer: a floating-point number above 0. */
export function* factorProblems(factor: string, at: Field): Problems {
  const sign = floatSign(factor);
  if (sign === undefined) {
    yield at.problem(MESSAGE.notAFloat);
  } else if (sign <= 0) {
    yield at.problem(MESSAGE.positive);
  }
}

/** Checks the change of a market's state by governance (`checkMarketUpdateConfiguration`). */
export function* marketStateProblems(
  { marketId, updateType, price }: UpdateMarketStateConfiguration,
  at: Field,
): Problems {
  const { TERMINATE, UNSPECIFIED } = MarketStateUpdateType;
  const value = uint256(price ?? "");
  if (marketId === "") {
    yield at.field("marketId", "marketId").problem(MESSAGE.required);
  } else if (updateType === UNSPECIFIED) {
    yield at.field("updateType", "updateType").problem(MESSAGE.required);
  } else if (updateType !== TERMINATE && price !== undefined) {
    yield at.field("price").problem("must be empty");
  } else if (price !== undefined && price !== "" && (value === undefined || isNegative(value))) {
    yield at.field("price").problem(MESSAGE.notValid);
  }
}
