import { AccountType } from "../../../../gen/client/vega/vega_pb.js";
import type { Transfer, WithdrawSubmission } from "../../../../gen/vega/commands/v1/commands_pb.js";
import { quoted } from "../../../base/errors/error-text.js";
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
} from "./field-rules.js";

export function* withdrawalProblems(withdrawal: WithdrawSubmission, at: string): Generator<Problem> {
  yield* fieldProblems(withdrawal, { amount: positiveWhole, asset: identifier }, at);
  if (withdrawal.ext === undefined) {
    return; // The assets that the network itself issues are withdrawn without details.
  }
  const { ext } = withdrawal.ext;
  if (ext.case !== "erc20") {
    yield { path: `${at}.ext.erc20`, message: "is required" };
    return;
  }
  yield* fieldProblems(ext.value, { receiverAddress: ethereumAddress }, `${at}.ext.erc20`);
}

function ethereumAddress(value: string): string | undefined {
  if (value === "") {
    return "is required";
  }
  return /^(0x)?[0-9a-f]{40}$/i.test(value) ? undefined : `must be an Ethereum address (got ${quoted(value)})`;
}

const { GENERAL, GLOBAL_REWARD, NETWORK_TREASURY, VESTED_REWARDS } = AccountType;

/** The receiver of what goes to an account of the network. */
const NETWORK = "0".repeat(64);

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
    yield wrong("to", "must be 64 zeros with ACCOUNT_TYPE_GLOBAL_REWARD");
  }
  if (transfer.from !== undefined && !(fromAccountType === VESTED_REWARDS && toAccountType === GENERAL)) {
    yield wrong("from", "must be set only from ACCOUNT_TYPE_VESTED_REWARDS to ACCOUNT_TYPE_GENERAL");
  }
  if (kind.case === undefined) {
    yield { path: at, message: "must contain oneOff or recurring" };
  }
  if (kind.case === "oneOff" && kind.value.deliverOn < 0n) {
    yield { path: `${at}.oneOff.deliverOn`, message: `must not be negative (got ${kind.value.deliverOn})` };
  }
  if (kind.case === "recurring") {
    const { startEpoch, endEpoch } = kind.value;
    if (startEpoch === 0n) {
      yield { path: `${at}.recurring.startEpoch`, message: "is required" };
    }
    if (endEpoch !== undefined && endEpoch < startEpoch) {
      yield { path: `${at}.recurring.endEpoch`, message: "must not be before startEpoch" };
    }
    yield* fieldProblems(kind.value, { factor: positiveDecimal }, `${at}.recurring`);
  }
}

function oneOf(types: readonly AccountType[]): Rule<AccountType> {
  const names = types.map((type) => `ACCOUNT_TYPE_${AccountType[type]}`);
  return (type) =>
    types.includes(type) ? undefined : `must be ${names.join(" or ")} (got ACCOUNT_TYPE_${AccountType[type]})`;
}
