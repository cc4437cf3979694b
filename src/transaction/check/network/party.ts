import {
  CancelAMM_Method,
  UndelegateSubmission_Method,
  UpdateMarginMode_Mode,
} from "../../../../gen/client/vega/commands/v1/commands_pb.js";
import { Vote_Value } from "../../../../gen/client/vega/governance_pb.js";
import type {
  CancelAMM,
  CreateReferralSet,
  DelegateSubmission,
  LiquidityProvisionAmendment,
  LiquidityProvisionSubmission,
  UndelegateSubmission,
  UpdateMarginMode,
  UpdatePartyProfile,
  UpdateReferralSet,
  VoteSubmission,
  WithdrawSubmission,
} from "../../../../gen/vega/commands/v1/commands_pb.js";
import { Field, type NetworkProblem } from "./field.js";
import { float64, integer } from "./numbers.js";
import {
  atMostBytes,
  byteLength,
  decimalRule,
  isEthereumAddress,
  isId,
  knownEnum,
  MESSAGE,
  positiveDecimal,
  required,
  requiredEnum,
  requiredId,
  requiredInteger,
} from "./rules.js";

type Problems = Generator<NetworkProblem>;

/** The network says of an amount of 0 or less that it is required. */
const requiredAmount = (amount: bigint) => (amount <= 0n ? MESSAGE.required : undefined);

/** Checks a withdrawal (`commands/withdraw_submission.go`). */
export function* withdrawalProblems({ amount, asset, ext }: WithdrawSubmission, at: Field): Problems {
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
export function* voteProblems({ proposalId, value }: VoteSubmission, at: Field): Problems {
  yield* requiredId(at.field("proposalId"), proposalId);
  yield* requiredEnum(at.field("value"), value, Vote_Value);
}

/** Checks a provision of liquidity (`commands/liquidity_provision_submission.go`). */
export function* liquidityProblems(command: LiquidityProvisionSubmission, at: Field): Problems {
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

/** Checks the amendment of a provision of liquidity. */
export function* liquidityAmendmentProblems(command: LiquidityProvisionAmendment, at: Field): Problems {
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
export function* delegationProblems({ amount, nodeId }: DelegateSubmission, at: Field): Problems {
  yield* requiredInteger(at.field("amount"), amount, requiredAmount, MESSAGE.notAnInteger);
  yield* requiredId(at.field("nodeId"), nodeId, MESSAGE.publicKey);
}

/** Checks the end of a delegation. */
export function* undelegationProblems({ method, nodeId }: UndelegateSubmission, at: Field): Problems {
  if (method === UndelegateSubmission_Method.UNSPECIFIED) {
    yield at.field("method").problem(MESSAGE.required);
  } else {
    yield* knownEnum(at.field("method"), method, UndelegateSubmission_Method, MESSAGE.required);
  }
  yield* requiredId(at.field("nodeId"), nodeId, MESSAGE.publicKey);
}

/** Checks a change of the margin mode (`commands/update_margin_mode.go`). */
export function* marginModeProblems({ mode, marginFactor, marketId }: UpdateMarginMode, at: Field): Problems {
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
export function* referralSetProblems(command: CreateReferralSet, at: Field): Problems {
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
export function* referralSetUpdateProblems({ id, isTeam, team }: UpdateReferralSet, at: Field): Problems {
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
): Problems {
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

/** Checks an identifier, even one that is not set, by its form. */
export function* idProblems(at: Field, id: string): Problems {
  if (!isId(id)) {
    yield at.problem(MESSAGE.id);
  }
}

/** Checks a party's profile (`commands/update_party_profile.go`). */
export function* profileProblems({ alias, metadata }: UpdatePartyProfile, at: Field): Problems {
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
export function* ammCancellationProblems({ marketId, method }: CancelAMM, at: Field): Problems {
  yield* requiredId(at.field("marketId"), marketId);
  yield* requiredEnum(at.field("method"), method, CancelAMM_Method);
}
