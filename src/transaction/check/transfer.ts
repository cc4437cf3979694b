import { AccountType } from "../../../gen/client/vega/vega_pb.js";
import type { Transfer } from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  both,
  fieldProblems,
  identifier,
  known,
  optional,
  type Problem,
  positiveDecimal,
  positiveWhole,
  type Rule,
  reference,
  specified,
} from "./problem.js";

const { GENERAL, GLOBAL_REWARD, NETWORK_TREASURY, VESTED_REWARDS } = AccountType;

/** The receiver of what goes to an account of the network. */
const NETWORK = "0".repeat(64);

/**
 * Check a transfer.
 *
 * @param transfer the command
 * @param at its path, with which the paths of the problems begin
 * @returns the problems
 */
export function* transferProblems(transfer: Transfer, at: string): Generator<Problem> {
  const { kind, fromAccountType, toAccountType, to } = transfer;
  const wrong = (field: string, message: string): Problem => ({ path: `${at}.${field}`, message });
  const accountType = both(specified, known(AccountType));
  const receivers = kind.case === "oneOff" ? [GENERAL, GLOBAL_REWARD, NETWORK_TREASURY] : undefined;
  const senders = kind.case === "recurring" ? [GENERAL] : [GENERAL, VESTED_REWARDS];
  yield* fieldProblems(
    transfer,
    {
      fromAccountType: both(accountType, oneOf(senders)),
      to: identifier,
      toAccountType: receivers === undefined ? accountType : both(accountType, oneOf(receivers)),
      asset: identifier,
      amount: positiveWhole,
      reference,
      from: optional(identifier),
    },
    at,
  );
  if (toAccountType === GLOBAL_REWARD && to !== NETWORK) {
    yield wrong("to", "has to be 64 zeros with ACCOUNT_TYPE_GLOBAL_REWARD");
  }
  if (transfer.from !== undefined && !(fromAccountType === VESTED_REWARDS && toAccountType === GENERAL)) {
    yield wrong("from", "may be set only from ACCOUNT_TYPE_VESTED_REWARDS to ACCOUNT_TYPE_GENERAL");
  }
  if (kind.case === undefined) {
    yield { path: at, message: "holds neither oneOff nor recurring" };
  }
  if (kind.case === "oneOff" && kind.value.deliverOn < 0n) {
    yield { path: `${at}.oneOff.deliverOn`, message: `is ${kind.value.deliverOn}, and cannot be negative` };
  }
  if (kind.case === "recurring") {
    const { startEpoch, endEpoch } = kind.value;
    if (startEpoch === 0n) {
      yield { path: `${at}.recurring.startEpoch`, message: "is required" };
    }
    if (endEpoch !== undefined && endEpoch < startEpoch) {
      yield { path: `${at}.recurring.endEpoch`, message: "is before startEpoch" };
    }
    yield* fieldProblems(kind.value, { factor: positiveDecimal }, `${at}.recurring`);
  }
}

/** Make a rule for one of some kinds of accounts. */
function oneOf(types: readonly AccountType[]): Rule<AccountType> {
  const names = types.map((type) => `ACCOUNT_TYPE_${AccountType[type]}`);
  return (type) =>
    types.includes(type) ? undefined : `is ACCOUNT_TYPE_${AccountType[type]}, not ${names.join(" or ")}`;
}
