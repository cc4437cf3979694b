import { AccountType } from "../../../../gen/client/vega/vega_pb.js";
import type { Transfer } from "../../../../gen/vega/commands/v1/commands_pb.js";
import { dispatchStrategyProblems, isMetricAccount } from "./dispatch-strategy.js";
import type { Field, NetworkProblem } from "./field.js";
import { factorProblems } from "./governance-transfer.js";
import { atMostBytes, isId, MESSAGE, requiredId, requiredInteger } from "./rules.js";

type Problems = Generator<NetworkProblem>;

const { GENERAL, GLOBAL_REWARD, NETWORK_TREASURY, UNSPECIFIED, VESTED_REWARDS } = AccountType;

/** The receiver of what goes to an account of the network. */
const NETWORK = "0".repeat(64);

/** Checks a transfer (`commands/transfer_funds.go`). */
export function* transferProblems(transfer: Transfer, at: Field): Problems {
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

function* derivedKeyProblems({ from, fromAccountType, toAccountType }: Transfer, at: Field): Problems {
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

function* kindProblems({ kind, fromAccountType, toAccountType }: Transfer, at: Field): Problems {
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
