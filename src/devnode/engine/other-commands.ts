import { amendAmm, cancelAmm, submitAmm } from "./amms.js";
import { delegate, undelegate } from "./delegation.js";
import type { ExecutedCommand } from "./engine.js";
import { submitBatchProposal, submitProposal, vote } from "./governance.js";
import { amendLiquidity, cancelLiquidity, provideLiquidity } from "./liquidity.js";
import { updateMarginMode } from "./margin-modes.js";
import { submitOracleData } from "./oracle-data.js";
import { updateProfile } from "./profiles.js";
import { applyReferralCode, createReferralSet, joinTeam, updateReferralSet } from "./referrals.js";
import type { Work } from "./state.js";
import { cancelTransfer, submitTransfer } from "./transfers.js";
import { withdraw } from "./withdrawals.js";

/**
 * Carry out a command that is not about orders.
 *
 * @param work the block
 * @param partyId the sender
 * @param command the command
 * @param next gives the identifiers of what it brings
 * @returns why nothing was done, if so: also where the local node does not carry out commands of its kind
 */
export function carryOutOther(
  work: Work,
  partyId: string,
  command: ExecutedCommand["command"],
  next: () => string,
): string | undefined {
  switch (command.case) {
    case "transfer":
      return submitTransfer(work, partyId, command.value, next());
    case "cancelTransfer":
      return cancelTransfer(work, partyId, command.value);
    case "proposalSubmission":
      return submitProposal(work, partyId, command.value, next());
    case "batchProposalSubmission":
      return submitBatchProposal(work, partyId, command.value, next);
    case "voteSubmission":
      return vote(work, partyId, command.value);
    case "withdrawSubmission":
      return withdraw(work, partyId, command.value, next());
    case "updatePartyProfile":
      return updateProfile(work, partyId, command.value);
    case "updateMarginMode":
      return updateMarginMode(work, partyId, command.value);
    case "delegateSubmission":
      return delegate(work, partyId, command.value);
    case "undelegateSubmission":
      return undelegate(work, partyId, command.value);
    case "oracleDataSubmission":
      return submitOracleData(work, partyId, command.value);
    default:
      return carryOutForMarkets(work, partyId, command, next);
  }
}

/** Carry out a command about referrals, teams or the liquidity of markets. */
function carryOutForMarkets(
  work: Work,
  partyId: string,
  command: ExecutedCommand["command"],
  next: () => string,
): string | undefined {
  switch (command.case) {
    case "createReferralSet":
      return createReferralSet(work, partyId, command.value, next());
    case "updateReferralSet":
      return updateReferralSet(work, partyId, command.value);
    case "applyReferralCode":
      return applyReferralCode(work, partyId, command.value);
    case "joinTeam":
      return joinTeam(work, partyId, command.value);
    case "liquidityProvisionSubmission":
      return provideLiquidity(work, partyId, command.value, next());
    case "liquidityProvisionAmendment":
      return amendLiquidity(work, partyId, command.value);
    case "liquidityProvisionCancellation":
      return cancelLiquidity(work, partyId, command.value);
    case "submitAmm":
      return submitAmm(work, partyId, command.value, next());
    case "amendAmm":
      return amendAmm(work, partyId, command.value);
    case "cancelAmm":
      return cancelAmm(work, partyId, command.value);
    default:
      return command.case === undefined
        ? "the transaction has no command"
        : `the local node does not carry out ${command.case} commands`;
  }
}
