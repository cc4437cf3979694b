import { commandIdentifiers, identifiers } from "../../transaction/identifiers.js";
import { carryOutBatch } from "./batch.js";
import { cancelOrders } from "./cancel.js";
import type { ExecutedCommand, Outcome } from "./engine.js";
import { submitBatchProposal, submitProposal, vote } from "./governance.js";
import type { Work } from "./state.js";
import { cancelStopOrders } from "./stop-orders.js";
import { submitStopOrders } from "./stop-submission.js";
import { cancelTransfer, submitTransfer } from "./transfers.js";
import { amendAndTrigger, submitAndTrigger } from "./triggers.js";

/**
 * Carries out a command.
 *
 * @param block the block
 * @param executed the command
 * @returns what became of it
 */
export function carryOutCommand(block: Work, { command, partyId, signature }: ExecutedCommand): Outcome {
  const ids = commandIdentifiers(command, signature);
  const [id = ""] = ids.submissions;
  const work = { ...block, nextId: ids.next };
  switch (command.case) {
    case "orderSubmission":
      return outcomeOf(submitAndTrigger(work, partyId, command.value, id));
    case "orderAmendment":
      return outcomeOf(amendAndTrigger(work, partyId, command.value));
    case "orderCancellation":
      return outcomeOf(cancelOrders(work, partyId, command.value));
    case "stopOrdersSubmission":
      submitStopOrders(work, partyId, command.value, ids.stopOrders[0] ?? {});
      return { status: "success" };
    case "stopOrdersCancellation":
      cancelStopOrders(work, partyId, command.value); // Alone, it succeeds whatever it finds.
      return { status: "success" };
    case "batchMarketInstructions":
      return carryOutBatch(work, partyId, command.value, ids, () => notCarriedOut("updateMarginMode"));
    case "transfer":
      return outcomeOf(submitTransfer(work, partyId, command.value, id));
    case "proposalSubmission":
      return outcomeOf(submitProposal(work, partyId, command.value, id));
    case "batchProposalSubmission": {
      const all = identifiers(signature);
      return outcomeOf(submitBatchProposal(work, partyId, command.value, () => all.next().value));
    }
    case "voteSubmission":
      return outcomeOf(vote(work, partyId, command.value));
    case "cancelTransfer":
      return outcomeOf(cancelTransfer(work, partyId, command.value));
    default:
      return outcomeOf(notCarriedOut(command.case));
  }
}

function notCarriedOut(command: string | undefined): string {
  return command === undefined
    ? "the transaction has no command"
    : `the local node does not carry out ${command} commands: it knows those for orders, stop orders and transfers`;
}

function outcomeOf(error: string | undefined): Outcome {
  return error === undefined ? { status: "success" } : { status: "failure", errors: [{ key: "", error }] };
}
