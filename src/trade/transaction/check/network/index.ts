import { commandNames } from "../../../../../gen/names/commands.js";
import type { BatchMarketInstructions } from "../../../../../gen/vega/commands/v1/commands_pb.js";
import { invalidValueError } from "../../../../base/input/assert.js";
import type { Command } from "../field-rules.js";
import { Field, type NetworkProblem, type NetworkProblems, requiredId } from "./network-rules.js";
import {
  batchProblems,
  orderAmendmentProblems,
  orderProblems,
  stopOrdersCancellationProblems,
  stopOrdersProblems,
} from "./order.js";
import {
  ammAmendmentProblems,
  ammCancellationProblems,
  ammProblems,
  delegationProblems,
  idProblems,
  liquidityAmendmentProblems,
  liquidityProblems,
  marginModeProblems,
  profileProblems,
  referralSetProblems,
  referralSetUpdateProblems,
  undelegationProblems,
  voteProblems,
  withdrawalProblems,
} from "./party.js";
import { transferProblems } from "./transfer.js";

export type { NetworkProblem } from "./network-rules.js";

type Messages = { readonly [Kind in Command["case"]]: Extract<Command, { readonly case: Kind }>["value"] };

type Checks = { readonly [Kind in keyof Messages]?: (message: Messages[Kind], at: Field) => Iterable<NetworkProblem> };

/** The checks of commands by their names. The node itself checks the commands of governance, validators and oracles. */
const CHECKS: Checks = {
  orderSubmission: orderProblems,
  orderAmendment: orderAmendmentProblems,
  stopOrdersSubmission: stopOrdersProblems,
  stopOrdersCancellation: stopOrdersCancellationProblems,
  batchMarketInstructions: batchProblems,
  withdrawSubmission: withdrawalProblems,
  voteSubmission: voteProblems,
  liquidityProvisionSubmission: liquidityProblems,
  liquidityProvisionAmendment: liquidityAmendmentProblems,
  liquidityProvisionCancellation: ({ marketId }, at) => requiredId(at.field("marketId"), marketId),
  delegateSubmission: delegationProblems,
  undelegateSubmission: undelegationProblems,
  transfer: transferProblems,
  cancelTransfer: ({ transferId }, at) => requiredId(at.field("transferId"), transferId),
  createReferralSet: referralSetProblems,
  updateReferralSet: referralSetUpdateProblems,
  applyReferralCode: ({ id }, at) => idProblems(at.field("id"), id),
  joinTeam: ({ id }, at) => idProblems(at.field("id"), id),
  updateMarginMode: marginModeProblems,
  updatePartyProfile: profileProblems,
  submitAmm: ammProblems,
  amendAmm: ammAmendmentProblems,
  cancelAmm: ammCancellationProblems,
};

function problemsOf<Kind extends keyof Messages>(kind: Kind, message: Messages[Kind]): Iterable<NetworkProblem> {
  return CHECKS[kind]?.(message, new Field(kind)) ?? [];
}

/**
 * Checks a command by the rules of the network's own check (`commands/transaction.go`, v0.78.0).
 *
 * @throws {@link RequestError} if no command has this name
 */
export function networkProblems(command: Command): readonly NetworkProblem[] {
  if (!Object.hasOwn(commandNames, command.case)) {
    throw invalidValueError("command.case", command.case, "the name of a command, such as orderSubmission");
  }
  return [...problemsOf(command.case, command.value)];
}

/** Checks the content of a batch of instructions, as the network does when it executes the batch. */
export function* batchEntryProblems(batch: BatchMarketInstructions): NetworkProblems {
  const at = new Field("batchMarketInstructions");
  const lists = [
    listProblems(batch.amendments, at.field("amendments"), "orderAmendment"),
    listProblems(batch.submissions, at.field("submissions"), "orderSubmission"),
    listProblems(batch.stopOrdersSubmission, at.field("stopOrdersSubmission"), "stopOrdersSubmission"),
    listProblems(batch.stopOrdersCancellation, at.field("stopOrdersCancellation"), "stopOrdersCancellation"),
    listProblems(batch.updateMarginMode, at.field("updateMarginMode"), "updateMarginMode"),
  ];
  for (const problems of lists) {
    yield* problems;
  }
}

function* listProblems<Kind extends keyof Messages>(
  messages: readonly Messages[Kind][],
  at: Field,
  kind: Kind,
): NetworkProblems {
  for (const [index, message] of messages.entries()) {
    yield* CHECKS[kind]?.(message, new Field(at.item(index).path, new Field(kind).property)) ?? [];
  }
}
