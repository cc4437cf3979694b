import { commandIdentifiers, identifiers } from "../../transaction/identifiers.js";
import { carryOutBatch } from "./batch.js";
import { cancelOrders } from "./cancel.js";
import type { ExecutedCommand, Outcome } from "./engine.js";
import { updateMarginMode } from "./margin-modes.js";
import { carryOutOther } from "./other-commands.js";
import type { Work } from "./state.js";
import { cancelStopOrders } from "./stop-orders.js";
import { submitStopOrders } from "./stop-submission.js";
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
      return carryOutBatch(work, partyId, command.value, ids, (each) => updateMarginMode(work, partyId, each));
    default: {
      const all = identifiers(signature);
      return outcomeOf(carryOutOther(work, partyId, command, () => all.next().value));
    }
  }
}

function outcomeOf(error: string | undefined): Outcome {
  return error === undefined ? { status: "success" } : { status: "failure", errors: [{ key: "", error }] };
}
