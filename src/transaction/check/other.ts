import {
  CancelAMM_Method,
  type SubmitAMM_ConcentratedLiquidityParameters,
  type Transfer,
  UndelegateSubmission_Method,
  type UpdateMarginMode,
  UpdateMarginMode_Mode,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { Vote_Value } from "../../../gen/vega/governance_pb.js";
import { AccountType } from "../../../gen/vega/transfer_pb.js";
import type { Command } from "./command.js";
import { known } from "./order.js";
import {
  atMost,
  decimal,
  fieldProblems,
  identifier,
  optional,
  type Problem,
  positiveWhole,
  present,
  specified,
  upToOne,
} from "./problem.js";

const NAME = atMost(100);
const URL = atMost(200);

/**
 * Check a command that is not about orders. Mostly, each field is checked by itself.
 *
 * @param command the command by its name and its message; one without rules here has no problems
 * @returns the problems
 */
export function* otherProblems(command: Command): Generator<Problem> {
  const at = command.case;
  switch (command.case) {
    case "withdrawSubmission":
      yield* fieldProblems(command.value, { amount: positiveWhole, asset: identifier }, at);
      break;
    case "voteSubmission":
      yield* fieldProblems(command.value, { proposalId: identifier, value: both(specified, known(Vote_Value)) }, at);
      break;
    case "liquidityProvisionSubmission":
      yield* fieldProblems(command.value, { marketId: identifier, commitmentAmount: positiveWhole, fee: decimal }, at);
      break;
    case "liquidityProvisionAmendment": {
      const rules = { commitmentAmount: optional(positiveWhole), fee: optional(decimal) };
      yield* fieldProblems(command.value, { marketId: identifier, ...rules }, at);
      break;
    }
    case "liquidityProvisionCancellation":
      yield* fieldProblems(command.value, { marketId: identifier }, at);
      break;
    case "delegateSubmission":
      yield* fieldProblems(command.value, { nodeId: identifier, amount: positiveWhole }, at);
      break;
    case "undelegateSubmission": {
      const method = both(specified, known(UndelegateSubmission_Method));
      yield* fieldProblems(command.value, { nodeId: identifier, amount: optional(positiveWhole), method }, at);
      break;
    }
    case "transfer":
      yield* transferProblems(command.value, at);
      break;
    case "cancelTransfer":
      yield* fieldProblems(command.value, { transferId: identifier }, at);
      break;
    case "createReferralSet": {
      const { isTeam, team } = command.value;
      if (isTeam || team !== undefined) {
        yield* fieldProblems(command.value, { team: present }, at);
      }
      if (team !== undefined) {
        const rules = { name: both(nonEmpty, NAME), teamUrl: optional(URL), avatarUrl: optional(URL) };
        yield* fieldProblems(team, rules, `${at}.team`);
      }
      break;
    }
    case "updateReferralSet": {
      const { isTeam, team } = command.value;
      yield* fieldProblems(command.value, { id: identifier, ...(isTeam ? { team: present } : {}) }, at);
      if (team !== undefined) {
        yield* fieldProblems(
          team,
          { name: optional(NAME), teamUrl: optional(URL), avatarUrl: optional(URL) },
          `${at}.team`,
        );
      }
      break;
    }
    case "applyReferralCode":
    case "joinTeam":
      yield* fieldProblems<{ readonly id: string }>(command.value, { id: identifier }, at);
      break;
    case "updateMarginMode":
      yield* marginModeProblems(command.value, at);
      break;
    case "updatePartyProfile": {
      const { metadata } = command.value;
      yield* fieldProblems(command.value, { alias: atMost(32) }, at);
      if (metadata.length > 10) {
        yield { path: `${at}.metadata`, message: `has ${metadata.length} entries, and may have 10` };
      }
      if (new Set(metadata.map(({ key }) => key)).size < metadata.length) {
        yield { path: `${at}.metadata`, message: "holds a key twice" };
      }
      break;
    }
    case "submitAmm": {
      const { concentratedLiquidityParameters: curve } = command.value;
      yield* fieldProblems(
        command.value,
        {
          marketId: identifier,
          commitmentAmount: positiveWhole,
          slippageTolerance: upToOne,
          proposedFee: decimal,
          concentratedLiquidityParameters: present,
        },
        at,
      );
      if (curve !== undefined) {
        yield* curveProblems(curve, `${at}.concentratedLiquidityParameters`);
      }
      break;
    }
    case "amendAmm": {
      const { concentratedLiquidityParameters: curve } = command.value;
      const rules = { commitmentAmount: optional(positiveWhole), proposedFee: optional(decimal) };
      yield* fieldProblems(command.value, { marketId: identifier, slippageTolerance: upToOne, ...rules }, at);
      if (curve !== undefined) {
        yield* curveProblems(curve, `${at}.concentratedLiquidityParameters`);
      }
      break;
    }
    case "cancelAmm": {
      const method = both(specified, known(CancelAMM_Method));
      yield* fieldProblems(command.value, { marketId: identifier, method }, at);
      break;
    }
  }
}

/**
 * Check a change of the margin mode.
 *
 * @param command the command
 * @param at its path, with which the paths of the problems begin
 * @returns the problems
 */
export function* marginModeProblems(command: UpdateMarginMode, at: string): Generator<Problem> {
  const mode = both(specified, known(UpdateMarginMode_Mode));
  const factor: (value: string | undefined) => string | undefined =
    command.mode === UpdateMarginMode_Mode.ISOLATED_MARGIN
      ? (value) => (value === undefined ? "is required with MODE_ISOLATED_MARGIN" : upToOne(value))
      : (value) => (value === undefined ? undefined : "may be set only with MODE_ISOLATED_MARGIN");
  yield* fieldProblems(command, { marketId: identifier, mode, marginFactor: factor }, at);
}

function* transferProblems(transfer: Transfer, at: string): Generator<Problem> {
  const { kind } = transfer;
  const accountType = both(specified, known(AccountType));
  yield* fieldProblems(
    transfer,
    {
      fromAccountType: accountType,
      to: identifier,
      toAccountType: accountType,
      asset: identifier,
      amount: positiveWhole,
      reference: atMost(100),
      from: optional(identifier),
    },
    at,
  );
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
    yield* fieldProblems(kind.value, { factor: decimal }, `${at}.recurring`);
  }
}

/** Check the curve of an automated market maker: lower bound, base and upper bound must ascend. */
function* curveProblems(
  curve: Omit<SubmitAMM_ConcentratedLiquidityParameters, "$typeName">,
  at: string,
): Generator<Problem> {
  const bounds = { base: positiveWhole, lowerBound: optional(positiveWhole), upperBound: optional(positiveWhole) };
  const leverages = { leverageAtLowerBound: optional(decimal), leverageAtUpperBound: optional(decimal) };
  const wrong = [...fieldProblems(curve, { ...bounds, ...leverages }, at)];
  yield* wrong;
  const { base, lowerBound = "", upperBound = "" } = curve;
  if (lowerBound === "" && upperBound === "") {
    yield { path: at, message: "holds neither lowerBound nor upperBound" };
  }
  if (wrong.length > 0) {
    return;
  }
  if (lowerBound !== "" && BigInt(lowerBound) >= BigInt(base)) {
    yield { path: `${at}.lowerBound`, message: "has to be below base" };
  }
  if (upperBound !== "" && BigInt(upperBound) <= BigInt(base)) {
    yield { path: `${at}.upperBound`, message: "has to be above base" };
  }
}

function nonEmpty(value: string): string | undefined {
  return value === "" ? "is required" : undefined;
}

/** Join two rules. Where both are broken, the first one counts. */
function both<T>(first: (value: T) => string | undefined, second: (value: T) => string | undefined) {
  return (value: T) => first(value) ?? second(value);
}
