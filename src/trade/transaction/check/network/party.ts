import {
  CancelAMM_Method,
  UndelegateSubmission_Method,
  UpdateMarginMode_Mode,
} from "../../../../../gen/client/vega/commands/v1/commands_pb.js";
import { Vote_Value } from "../../../../../gen/client/vega/governance_pb.js";
import type {
  AmendAMM,
  CancelAMM,
  CreateReferralSet,
  DelegateSubmission,
  LiquidityProvisionAmendment,
  LiquidityProvisionSubmission,
  SubmitAMM,
  SubmitAMM_ConcentratedLiquidityParameters,
  UndelegateSubmission,
  UpdateMarginMode,
  UpdatePartyProfile,
  UpdateReferralSet,
  VoteSubmission,
  WithdrawSubmission,
} from "../../../../../gen/vega/commands/v1/commands_pb.js";
import { float64, integer, signOf } from "./go-numbers.js";
import {
  above0To1,
  atMostBytes,
  byteLength,
  decimalRule,
  Field,
  isEthereumAddress,
  isId,
  knownEnum,
  MESSAGE,
  type NetworkProblems,
  positiveDecimal,
  positiveInteger,
  required,
  requiredDecimal,
  requiredEnum,
  requiredId,
  requiredInteger,
} from "./network-rules.js";

/** The network says of an amount of 0 or less that it is required. */
const requiredAmount = (amount: bigint) => (amount <= 0n ? MESSAGE.required : undefined);

/** Checks a withdrawal (`commands/withdraw_submission.go`). */
export function* withdrawalProblems({ amount, asset, ext }: WithdrawSubmission, at: Field): NetworkProblems {
  yield* requiredInteger(at.field("amount"), amount, requiredAmount, MESSAGE.notAnInteger);
  yield* requiredId(at.field("asset"), asset);
  if (ext === undefined) {
    return;
  }
  if (ext.ext.case === undefined) {
    yield new Field(at.field("ext").path, "withdraw_ext.ext").problem("unsupported withdraw extended details");
    return;
  }
  const { receiverAddress } = ext.ext.value;
  const path = at.field("ext").field("erc20").field("receiverAddress").path;
  const field = new Field(path, "withdraw_ext.erc20.received_address");
  yield* required(field, receiverAddress);
  if (receiverAddress !== "" && !isEthereumAddress(receiverAddress)) {
    yield field.problem(MESSAGE.ethereumAddress);
  }
}

/** Checks a vote (`commands/vote_submission.go`). */
export function* voteProblems({ proposalId, value }: VoteSubmission, at: Field): NetworkProblems {
  yield* requiredId(at.field("proposalId"), proposalId);
  yield* requiredEnum(at.field("value"), value, Vote_Value);
}

/** Checks a provision of liquidity (`commands/liquidity_provision_submission.go`). */
export function* liquidityProblems(command: LiquidityProvisionSubmission, at: Field): NetworkProblems {
  const { commitmentAmount, fee } = command;
  yield* requiredId(at.field("marketId"), command.marketId);
  yield* atMostBytes(at.field("reference"), command.reference, 100, MESSAGE.referenceTooLong);
  const amount = integer(commitmentAmount);
  if (amount !== undefined && amount <= 0n) {
    yield at.field("commitmentAmount").problem(MESSAGE.notANumber);
    return;
  }
  if (amount === undefined) {
    const message = commitmentAmount === "" ? MESSAGE.required : MESSAGE.notAnInteger;
    yield at.field("commitmentAmount").problem(message);
  }
  const value = float64(fee);
  if (fee === "") {
    yield at.field("fee").problem(MESSAGE.required);
  } else if (value === undefined || (Math.abs(value) === Number.POSITIVE_INFINITY && !/inf/i.test(fee))) {
    yield at.field("fee").problem(MESSAGE.notValid);
  } else if (value < 0) {
    yield at.field("fee").problem(MESSAGE.positive);
  }
}

export function* liquidityAmendmentProblems(command: LiquidityProvisionAmendment, at: Field): NetworkProblems {
  const { marketId, commitmentAmount, fee, reference } = command;
  if (marketId === "") {
    yield at.field("marketId").problem(MESSAGE.required);
  } else if (commitmentAmount === "" && fee === "" && reference === "") {
    yield at.problem(MESSAGE.required);
  } else {
    yield* atMostBytes(at.field("reference"), reference, 100, MESSAGE.referenceTooLong);
  }
}

/** Checks a delegation (`commands/delegate_submission.go`). */
export function* delegationProblems({ amount, nodeId }: DelegateSubmission, at: Field): NetworkProblems {
  yield* requiredInteger(at.field("amount"), amount, requiredAmount, MESSAGE.notAnInteger);
  yield* requiredId(at.field("nodeId"), nodeId, MESSAGE.publicKey);
}

export function* undelegationProblems({ method, nodeId }: UndelegateSubmission, at: Field): NetworkProblems {
  if (method === UndelegateSubmission_Method.UNSPECIFIED) {
    yield at.field("method").problem(MESSAGE.required);
  } else {
    yield* knownEnum(at.field("method"), method, UndelegateSubmission_Method, MESSAGE.required);
  }
  yield* requiredId(at.field("nodeId"), nodeId, MESSAGE.publicKey);
}

/** Checks a change of the margin mode (`commands/update_margin_mode.go`). */
export function* marginModeProblems({ mode, marginFactor, marketId }: UpdateMarginMode, at: Field): NetworkProblems {
  const { CROSS_MARGIN, ISOLATED_MARGIN, UNSPECIFIED } = UpdateMarginMode_Mode;
  const factor = at.field("marginFactor");
  if (mode === UNSPECIFIED) {
    yield at.field("mode", "margin_mode").problem(MESSAGE.notValid);
  }
  yield* knownEnum(at.field("mode", "margin_mode"), mode, UpdateMarginMode_Mode);
  if (mode === CROSS_MARGIN && marginFactor !== undefined) {
    yield factor.problem("margin factor must not be defined when margin mode is cross margin");
  }
  if (mode === ISOLATED_MARGIN && (marginFactor ?? "") === "") {
    yield factor.problem("margin factor must be defined when margin mode is isolated margin");
  } else if (mode === ISOLATED_MARGIN) {
    yield* decimalRule(factor, marginFactor ?? "", positiveDecimal);
  }
  yield* required(at.field("marketId"), marketId);
}

/** Checks a new referral set (`commands/create_referral_set.go`). */
export function* referralSetProblems(command: CreateReferralSet, at: Field): NetworkProblems {
  const { isTeam, doNotCreateReferralSet, team } = command;
  if (doNotCreateReferralSet && !isTeam) {
    yield at.problem("is ineffective");
  } else if (isTeam && team === undefined) {
    yield at.field("team").problem(MESSAGE.required);
  } else if (isTeam && team !== undefined) {
    yield* teamProblems(team, at.field("team"));
  }
}

/** Checks the changes of a referral set (`commands/update_referral_set.go`). */
export function* referralSetUpdateProblems({ id, isTeam, team }: UpdateReferralSet, at: Field): NetworkProblems {
  yield* idProblems(at.field("id"), id);
  if (isTeam && team === undefined) {
    yield at.field("team").problem(MESSAGE.required);
  } else if (isTeam && team !== undefined) {
    yield* teamProblems(team, at.field("team"));
    if (team.closed === undefined && team.allowList.length > 0) {
      const message = "setting an allow list requires setting the closed state";
      yield at.field("team").field("allowList").problem(message);
    }
  }
}

function* teamProblems(
  team: {
    readonly name?: string | undefined;
    readonly avatarUrl?: string | undefined;
    readonly teamUrl?: string | undefined;
    readonly closed?: boolean | undefined;
    readonly allowList: readonly string[];
  },
  at: Field,
): NetworkProblems {
  if (team.name !== undefined) {
    yield* required(at.field("name"), team.name);
    yield* atMostBytes(at.field("name"), team.name, 100, "must be less than 100 characters");
  }
  for (const name of ["avatarUrl", "teamUrl"] as const) {
    yield* atMostBytes(at.field(name), team[name] ?? "", 200, "must be less than 200 characters");
  }
  if (team.closed === false && team.allowList.length > 0) {
    yield at.field("allowList").problem("cannot set allow list when team is opened");
  }
}

/** Checks the form of an identifier, even if it is not set. */
export function* idProblems(at: Field, id: string): NetworkProblems {
  if (!isId(id)) {
    yield at.problem(MESSAGE.id);
  }
}

/** Checks a party's profile (`commands/update_party_profile.go`). */
export function* profileProblems({ alias, metadata }: UpdatePartyProfile, at: Field): NetworkProblems {
  yield* atMostBytes(at.field("alias"), alias, 32, "is limited to 32 characters");
  if (metadata.length > 10) {
    yield at.field("metadata").problem("is limited to 10 entries");
    return;
  }
  const keys = new Set<string>();
  for (const [index, { key, value }] of metadata.entries()) {
    const entry = at.field("metadata").item(index);
    if (byteLength(key) > 32) {
      yield entry.field("key").problem("is limited to 32 characters");
    } else if (key === "") {
      yield entry.field("key").problem("cannot be blank");
    }
    if (keys.has(key)) {
      yield entry.field("key").problem("is duplicated");
    }
    keys.add(key);
    yield* atMostBytes(entry.field("value"), value, 255, "is limited to 255 characters");
  }
}

/** Checks the cancellation of an automated market maker (`commands/cancel_amm.go`). */
export function* ammCancellationProblems({ marketId, method }: CancelAMM, at: Field): NetworkProblems {
  yield* requiredId(at.field("marketId"), marketId);
  yield* requiredEnum(at.field("method"), method, CancelAMM_Method);
}

type Curve = Omit<SubmitAMM_ConcentratedLiquidityParameters, "$typeName">;

/** Checks the submission of an automated market maker (`commands/submit_amm.go`). */
export function* ammProblems(amm: SubmitAMM, at: Field): NetworkProblems {
  const { concentratedLiquidityParameters: curve } = amm;
  yield* requiredId(at.field("marketId"), amm.marketId);
  yield* requiredDecimal(at.field("slippageTolerance"), amm.slippageTolerance, above0To1);
  yield* requiredInteger(at.field("commitmentAmount"), amm.commitmentAmount, positiveInteger);
  yield* amm.proposedFee === ""
    ? required(at.field("proposedFee"), amm.proposedFee)
    : decimalRule(at.field("proposedFee"), amm.proposedFee, positiveDecimal, MESSAGE.notValid);
  const field = at.field("concentratedLiquidityParameters");
  if (curve === undefined) {
    yield field.problem(MESSAGE.required);
    return;
  }
  yield* required(field.field("base"), curve.base);
  yield* curveProblems(curve, field, amm.slippageTolerance, at);
}

/** Checks the amendment of an automated market maker (`commands/amend_amm.go`). */
export function* ammAmendmentProblems(amm: AmendAMM, at: Field): NetworkProblems {
  const { concentratedLiquidityParameters: curve, commitmentAmount, proposedFee } = amm;
  const problems = [...amendedProblems(amm, at)];
  yield* problems;
  const hasUpdate = [commitmentAmount, proposedFee, curve].some((value) => value !== undefined);
  if (!hasUpdate && problems.length === 0) {
    yield at.general("no updates provided");
  }
}

function* amendedProblems(amm: AmendAMM, at: Field): NetworkProblems {
  const { concentratedLiquidityParameters: curve, commitmentAmount, proposedFee } = amm;
  yield* requiredId(at.field("marketId"), amm.marketId);
  yield* requiredDecimal(at.field("slippageTolerance"), amm.slippageTolerance, above0To1);
  if (commitmentAmount !== undefined) {
    yield* amountProblems(at.field("commitmentAmount"), commitmentAmount);
  }
  if (proposedFee !== undefined) {
    yield* decimalRule(at.field("proposedFee"), proposedFee, positiveDecimal, MESSAGE.notValid);
  }
  if (curve !== undefined) {
    const field = at.field("concentratedLiquidityParameters");
    if (curve.base === "") {
      yield field.field("base").problem(MESSAGE.notANumber);
    }
    // The network names a field of the submission here.
    yield* curveProblems(curve, field, amm.slippageTolerance, at.named("submit_amm"));
  }
}

/** Checks the curve of an automated market maker, and its slippage tolerance for a second time. */
function* curveProblems(curve: Curve, at: Field, slippageTolerance: string, amm: Field): NetworkProblems {
  const { base, lowerBound, upperBound } = curve;
  if (base !== "") {
    yield* amountProblems(at.field("base"), base);
  }
  for (const name of ["lowerBound", "upperBound"] as const) {
    const bound = curve[name];
    if (bound !== undefined) {
      yield* amountProblems(at.field(name), bound);
    }
  }
  if (lowerBound === undefined && upperBound === undefined) {
    yield at.field("lowerBound").problem("lower_bound and upper_bound cannot both be empty");
  }
  const [middle, lower, upper] = [base, lowerBound ?? "", upperBound ?? ""].map(integer);
  if (middle !== undefined && lower !== undefined && middle <= lower) {
    yield at.field("base").problem("should be a bigger value than lower_bound");
  }
  if (middle !== undefined && upper !== undefined && middle >= upper) {
    yield at.field("base").problem("should be a smaller value than upper_bound");
  }
  for (const name of ["leverageAtUpperBound", "leverageAtLowerBound"] as const) {
    const leverage = curve[name];
    if (leverage !== undefined) {
      yield* decimalRule(at.field(name), leverage, refuseNegative);
    }
  }
  yield* requiredDecimal(amm.field("slippageTolerance"), slippageTolerance, refuseNegative);
}

function* amountProblems(at: Field, amount: string): NetworkProblems {
  const value = integer(amount);
  if (value === undefined || value <= 0n) {
    yield at.problem(value === undefined ? MESSAGE.notANumber : MESSAGE.positive);
  }
}

function refuseNegative(value: Parameters<typeof signOf>[0]): string | undefined {
  return signOf(value) < 0 ? MESSAGE.positive : undefined;
}
