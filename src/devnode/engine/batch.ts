import type { BatchMarketInstructions } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { CommandIdentifiers } from "../../transaction/identifiers.js";
import { cancelOrders } from "./cancel.js";
import type { Outcome } from "./engine.js";
import type { Work } from "./state.js";
import { cancelStopOrders } from "./stop-orders.js";
import { submitStopOrders } from "./stop-submission.js";
import { amendAndTrigger, submitAndTrigger } from "./triggers.js";

/** An instruction of a batch: the key of its error, and what carries it out and returns why it was not, if so. */
interface Instruction {
  readonly key: string;
  readonly execute: () => string | undefined;
}

/**
 * Carries out a batch, in the network's order: margin modes, cancellations, amendments and submissions of orders,
 * cancellations and submissions of stop orders. Each instruction succeeds or fails alone, and an order is amended only once.
 *
 * The key of an error is the place of its instruction among cancellations, amendments, submissions and stop orders, from "0";
 * cancellations of stop orders have their place among themselves, and margin modes `updateMarginMode` (v0.78.0,
 * `core/processor/batch_market_instructions_processor.go`). Stop orders that are rejected are no errors.
 *
 * @param work the block
 * @param partyId the sender
 * @param batch the batch
 * @param ids the identifiers of its orders and stop orders
 * @param updateMarginMode carries out a change of the margin mode, and returns why it was not, if so
 * @returns what became of it
 */
export function carryOutBatch(
  work: Work,
  partyId: string,
  batch: BatchMarketInstructions,
  ids: CommandIdentifiers,
  updateMarginMode: (update: BatchMarketInstructions["updateMarginMode"][number]) => string | undefined,
): Outcome {
  const failedMarkets = new Set<string>();
  const amended = new Set<string>();

  /** Refuse what is on a market whose margin mode could not be changed. */
  const unlessFailed = (marketId: string | undefined, execute: () => string | undefined) => () =>
    failedMarkets.has(marketId ?? "")
      ? `Update margin mode transaction failed for market ${marketId}. Ignoring all transactions for the market`
      : execute();

  const modes = batch.updateMarginMode.map((update) => ({
    key: "updateMarginMode",
    execute() {
      const error = updateMarginMode(update);
      if (error !== undefined) {
        failedMarkets.add(update.marketId);
      }
      return error;
    },
  }));
  const counted = [
    ...batch.cancellations.map((each) => unlessFailed(each.marketId, () => cancelOrders(work, partyId, each))),
    ...batch.amendments.map((each) => () => {
      if (amended.has(each.orderId)) {
        return "order already amended in batch";
      }
      const error = unlessFailed(each.marketId, () => amendAndTrigger(work, partyId, each))();
      if (error === undefined) {
        amended.add(each.orderId);
      }
      return error;
    }),
    ...batch.submissions.map((each, index) =>
      unlessFailed(each.marketId, () => submitAndTrigger(work, partyId, each, ids.submissions[index] ?? "")),
    ),
  ].map((execute, index) => ({ key: String(index), execute }));
  const cancellations = batch.stopOrdersCancellation.map((each, index) => ({
    key: String(index),
    execute: unlessFailed(each.marketId, () => cancelStopOrders(work, partyId, each)),
  }));
  const stops = batch.stopOrdersSubmission.map((each, index) => ({
    key: String(index),
    execute: unlessFailed(each.risesAbove?.orderSubmission?.marketId, () =>
      unlessFailed(each.fallsBelow?.orderSubmission?.marketId, () => {
        submitStopOrders(work, partyId, each, ids.stopOrders[index] ?? {});
        return undefined;
      })(),
    ),
  }));
  return outcomeOf([...modes, ...counted, ...cancellations, ...stops]);
}

/** Carry out instructions one after the other, and sum up what became of them. */
function outcomeOf(instructions: readonly Instruction[]): Outcome {
  const errors = instructions.flatMap(({ key, execute }) => {
    const error = execute();
    return error === undefined ? [] : [{ key, error }];
  });
  if (errors.length === 0) {
    return { status: "success" };
  }
  return { status: errors.length < instructions.length ? "partial" : "failure", errors };
}
