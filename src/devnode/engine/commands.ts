import type { BatchMarketInstructions } from "../../../gen/vega/commands/v1/commands_pb.js";
import { identifiers } from "../../transaction/identifiers.js";
import { amendOrder } from "./amend.js";
import { cancelOrders } from "./cancel.js";
import type { ExecutedCommand, Outcome } from "./engine.js";
import { submitBatchProposal, submitProposal, vote } from "./governance.js";
import type { Work } from "./state.js";
import { cancelStopOrders, halvesOf, submitStopOrders } from "./stop-orders.js";
import { submitOrder } from "./submit.js";
import { cancelTransfer, submitTransfer } from "./transfers.js";

/** A part of a command. It returns why it was not carried out, if so. */
type Part = () => string | undefined;

/**
 * Carry out a command. The parts of a batch are carried out in the network's order: margin modes, cancellations, amendments
 * and submissions of orders, cancellations and submissions of stop orders; each one succeeds or fails alone.
 *
 * @param work the block
 * @param executed the command
 * @returns what became of it
 */
export function carryOutCommand(work: Work, { command, partyId, signature }: ExecutedCommand): Outcome {
  const ids = identifiers(signature);
  const next = () => ids.next().value;
  switch (command.case) {
    case "orderSubmission":
      return outcomeOf([() => submitOrder(work, partyId, command.value, next())], false);
    case "orderAmendment":
      return outcomeOf([() => amendOrder(work, partyId, command.value)], false);
    case "orderCancellation":
      return outcomeOf([() => cancelOrders(work, partyId, command.value)], false);
    case "stopOrdersSubmission":
      return outcomeOf(
        [() => submitStopOrders(work, partyId, command.value, halvesOf(command.value).map(next))],
        false,
      );
    case "stopOrdersCancellation":
      return outcomeOf([() => cancelStopOrders(work, partyId, command.value)], false);
    case "batchMarketInstructions":
      return outcomeOf(partsOf(work, partyId, command.value, next), true);
    case "transfer":
      return outcomeOf([() => submitTransfer(work, partyId, command.value, next())], false);
    case "proposalSubmission":
      return outcomeOf([() => submitProposal(work, partyId, command.value, next())], false);
    case "batchProposalSubmission":
      return outcomeOf([() => submitBatchProposal(work, partyId, command.value, next)], false);
    case "voteSubmission":
      return outcomeOf([() => vote(work, partyId, command.value)], false);
    case "cancelTransfer":
      return outcomeOf([() => cancelTransfer(work, partyId, command.value)], false);
    default:
      return outcomeOf([() => notCarriedOut(command.case)], false);
  }
}

function notCarriedOut(command: string | undefined): string {
  return command === undefined
    ? "the transaction has no command"
    : `the local node does not carry out ${command} commands: it knows those for orders, stop orders and transfers`;
}

function partsOf(work: Work, partyId: string, batch: BatchMarketInstructions, next: () => string): readonly Part[] {
  return [
    ...batch.updateMarginMode.map(() => () => notCarriedOut("updateMarginMode")),
    ...batch.cancellations.map((each) => () => cancelOrders(work, partyId, each)),
    ...batch.amendments.map((each) => () => amendOrder(work, partyId, each)),
    ...batch.submissions.map((each) => {
      const id = next();
      return () => submitOrder(work, partyId, each, id);
    }),
    ...batch.stopOrdersCancellation.map((each) => () => cancelStopOrders(work, partyId, each)),
    ...batch.stopOrdersSubmission.map((each) => {
      const ids = halvesOf(each).map(next);
      return () => submitStopOrders(work, partyId, each, ids);
    }),
  ];
}

/** Carry out the parts of a command one after the other, and sum up what became of them. */
function outcomeOf(parts: readonly Part[], isBatch: boolean): Outcome {
  const errors = parts.flatMap((part, index) => {
    const error = part();
    return error === undefined ? [] : [{ key: isBatch ? String(index) : "", error }];
  });
  if (errors.length === 0) {
    return { status: "success" };
  }
  return { status: errors.length < parts.length ? "partial" : "failure", errors };
}
