import {
  CancelAMM_Method,
  UndelegateSubmission_Method,
  UpdateMarginMode_Mode,
} from "../../../../gen/client/vega/commands/v1/commands_pb.js";
import { Vote_Value } from "../../../../gen/client/vega/governance_pb.js";
import { AccountType } from "../../../../gen/client/vega/vega_pb.js";
import type {
  AmendAMM,
  CreateReferralSet,
  SubmitAMM,
  SubmitAMM_ConcentratedLiquidityParameters,
  Transfer,
  UpdateMarginMode,
  UpdatePartyProfile,
  UpdateReferralSet,
  WithdrawSubmission,
} from "../../../../gen/vega/commands/v1/commands_pb.js";
import { quoted } from "../../../base/errors/error-text.js";
import { invalidValueError } from "../../../base/input/assert.js";
import {
  atMost,
  both,
  type Command,
  decimal,
  fieldProblems,
  identifier,
  known,
  listProblems,
  nonEmpty,
  optional,
  type Problem,
  positiveDecimal,
  positiveWhole,
  present,
  type Rule,
  reference,
  specified,
  upToOne,
  whereSet,
} from "./field-rules.js";
import { HALTING_AMENDMENT } from "./halting-commands.js";

const NAME = atMost(100);
const URL = atMost(200);

const LIQUIDITY_SUBMISSION = {
  marketId: identifier,
  commitmentAmount: positiveWhole,
  fee: decimal,
  reference,
};

const LIQUIDITY_AMENDMENT = {
  marketId: identifier,
  reference,
  commitmentAmount: optional(positiveWhole),
  fee: optional(decimal),
};

const UNDELEGATION = {
  nodeId: identifier,
  amount: optional(positiveWhole),
  method: both(specified, known(UndelegateSubmission_Method)),
};

const AMM_CANCELLATION = { marketId: identifier, method: both(specified, known(CancelAMM_Method)) };

/**
 * Checks a command that is not about orders. Most fields are checked separately.
 *
 * @throws {@link RequestError} if no command has this name
 */
export function* otherProblems(command: Command): Generator<Problem> {
  const at = command.case;
  switch (command.case) {
    case "withdrawSubmission":
      yield* withdrawalProblems(command.value, at);
      break;
    case "voteSubmission":
      yield* fieldProblems(command.value, { proposalId: identifier, value: both(specified, known(Vote_Value)) }, at);
      break;
    case "liquidityProvisionSubmission":
      yield* fieldProblems(command.value, LIQUIDITY_SUBMISSION, at);
      break;
    case "liquidityProvisionAmendment":
      yield* fieldProblems(command.value, LIQUIDITY_AMENDMENT, at);
      break;
    case "liquidityProvisionCancellation":
      yield* fieldProblems(command.value, { marketId: identifier }, at);
      break;
    case "delegateSubmission":
      yield* fieldProblems(command.value, { nodeId: identifier, amount: positiveWhole }, at);
      break;
    case "undelegateSubmission":
      yield* fieldProblems(command.value, UNDELEGATION, at);
      break;
    case "transfer":
      yield* transferProblems(command.value, at);
      break;
    case "cancelTransfer":
      yield* fieldProblems(command.value, { transferId: identifier }, at);
      break;
    case "createReferralSet":
      yield* newReferralSetProblems(command.value, at);
      break;
    case "updateReferralSet":
      yield* referralSetProblems(command.value, at);
      break;
    case "applyReferralCode":
    case "joinTeam":
      yield* fieldProblems<{ readonly id: string }>(command.value, { id: identifier }, at);
      break;
    case "updateMarginMode":
      yield* marginModeProblems(command.value, at);
      break;
    case "updatePartyProfile":
      yield* profileProblems(command.value, at);
      break;
    case "submitAmm":
      yield* ammProblems(command.value, at);
      break;
    case "amendAmm":
      yield* ammAmendmentProblems(command.value, at);
      break;
    case "cancelAmm":
      yield* fieldProblems(command.value, AMM_CANCELLATION, at);
      break;
    default:
      throw invalidValueError("command.case", at, "the name of a command, such as orderSubmission");
  }
}

/** Checks a change of the margin mode. */
export function* marginModeProblems(command: UpdateMarginMode, at: string): Generator<Problem> {
  const mode = both(specified, known(UpdateMarginMode_Mode));
  const factor: (value: string | undefined) => string | undefined =
    command.mode === UpdateMarginMode_Mode.ISOLATED_MARGIN
      ? (value) => (value === undefined ? "is required with MODE_ISOLATED_MARGIN" : upToOne(value))
      : (value) => (value === undefined ? undefined : "must be set only with MODE_ISOLATED_MARGIN");
  yield* fieldProblems(command, { marketId: identifier, mode, marginFactor: factor }, at);
}

function* withdrawalProblems(withdrawal: WithdrawSubmission, at: string): Generator<Problem> {
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

function* newReferralSetProblems(command: CreateReferralSet, at: string): Generator<Problem> {
  const { isTeam, team } = command;
  if (isTeam) {
    yield* fieldProblems(command, { team: present }, at);
  }
  if (team !== undefined) {
    const rules = { name: both(nonEmpty, NAME), teamUrl: optional(URL), avatarUrl: optional(URL) };
    yield* fieldProblems(team, rules, `${at}.team`);
    yield* allowListProblems(team, `${at}.team`);
  }
}

function* referralSetProblems(command: UpdateReferralSet, at: string): Generator<Problem> {
  const { isTeam, team } = command;
  yield* fieldProblems(command, { id: identifier, ...(isTeam ? { team: present } : {}) }, at);
  if (team !== undefined) {
    const rules = { name: whereSet(NAME), teamUrl: optional(URL), avatarUrl: optional(URL) };
    yield* fieldProblems(team, rules, `${at}.team`);
    yield* allowListProblems(team, `${at}.team`);
  }
}

function* profileProblems(command: UpdatePartyProfile, at: string): Generator<Problem> {
  const { metadata } = command;
  yield* fieldProblems(command, { alias: atMost(32) }, at);
  if (metadata.length > 10) {
    yield { path: `${at}.metadata`, message: `must have at most 10 entries (got ${metadata.length})` };
  }
  yield* listProblems(metadata, `${at}.metadata`, (entry, path) =>
    fieldProblems(entry, { key: both(nonEmpty, atMost(32)), value: atMost(255) }, path),
  );
  if (new Set(metadata.map(({ key }) => key)).size < metadata.length) {
    yield { path: `${at}.metadata`, message: "must not contain a key twice" };
  }
}

/** The list of those that may join a team, where the command says that all may. */
function* allowListProblems(
  { closed, allowList }: { readonly closed?: boolean | undefined; readonly allowList: readonly string[] },
  at: string,
): Generator<Problem> {
  if (closed === false && allowList.length > 0) {
    yield { path: `${at}.allowList`, message: "must be set only for a closed team" };
  }
}

function ethereumAddress(value: string): string | undefined {
  if (value === "") {
    return "is required";
  }
  return /^(0x)?[0-9a-f]{40}$/i.test(value) ? undefined : `must be an Ethereum address (got ${quoted(value)})`;
}

/** Checks the submission of an automated market maker. */
export function* ammProblems(amm: SubmitAMM, at: string): Generator<Problem> {
  const { concentratedLiquidityParameters: curve } = amm;
  yield* fieldProblems(
    amm,
    {
      marketId: identifier,
      commitmentAmount: positiveWhole,
      slippageTolerance: upToOne,
      proposedFee: positiveDecimal,
      concentratedLiquidityParameters: present,
    },
    at,
  );
  if (curve !== undefined) {
    yield* curveProblems(curve, `${at}.concentratedLiquidityParameters`);
  }
}

/** Checks the amendment of an automated market maker. */
export function* ammAmendmentProblems(amm: AmendAMM, at: string): Generator<Problem> {
  const { concentratedLiquidityParameters: curve } = amm;
  const rules = { commitmentAmount: whereSet(positiveWhole), proposedFee: whereSet(positiveDecimal) };
  const wrong = [...fieldProblems(amm, { marketId: identifier, slippageTolerance: upToOne, ...rules }, at)];
  yield* wrong;
  if (curve !== undefined) {
    yield* curveProblems(curve, `${at}.concentratedLiquidityParameters`);
  } else if (wrong.length === 0) {
    yield { path: `${at}.concentratedLiquidityParameters`, message: HALTING_AMENDMENT };
  }
}

/** Checks the curve of an automated market maker: lower bound, base and upper bound must ascend. */
function* curveProblems(
  curve: Omit<SubmitAMM_ConcentratedLiquidityParameters, "$typeName">,
  at: string,
): Generator<Problem> {
  const bounds = { base: positiveWhole, lowerBound: whereSet(positiveWhole), upperBound: whereSet(positiveWhole) };
  const leverages = { leverageAtLowerBound: whereSet(decimal), leverageAtUpperBound: whereSet(decimal) };
  const wrong = [...fieldProblems(curve, { ...bounds, ...leverages }, at)];
  yield* wrong;
  const { base, lowerBound, upperBound } = curve;
  if (lowerBound === undefined && upperBound === undefined) {
    yield { path: at, message: "must contain lowerBound, upperBound or both" };
  }
  if (wrong.length > 0) {
    return;
  }
  if (lowerBound !== undefined && BigInt(lowerBound) >= BigInt(base)) {
    yield { path: `${at}.lowerBound`, message: "must be below base" };
  }
  if (upperBound !== undefined && BigInt(upperBound) <= BigInt(base)) {
    yield { path: `${at}.upperBound`, message: "must be above base" };
  }
}

const { GENERAL, GLOBAL_REWARD, NETWORK_TREASURY, VESTED_REWARDS } = AccountType;

/** The receiver of what goes to an account of the network. */
const NETWORK = "0".repeat(64);

/** Checks a transfer. */
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

/** Creates a rule that an account must have one of these types. */
function oneOf(types: readonly AccountType[]): Rule<AccountType> {
  const names = types.map((type) => `ACCOUNT_TYPE_${AccountType[type]}`);
  return (type) =>
    types.includes(type) ? undefined : `must be ${names.join(" or ")} (got ACCOUNT_TYPE_${AccountType[type]})`;
}
