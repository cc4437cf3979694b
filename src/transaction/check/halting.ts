import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { Problem } from "./problem.js";

/**
 * Why an amendment of a market maker needs its curve. The network's check takes one without it, and each validator then
 * fails while it executes it (v0.78.0, `VerifyAMMBounds` in `core/execution/future/market.go`).
 */
export const HALTING_AMENDMENT = "is required: without it, the amendment stops a network of v0.78.0 for good";

/**
 * Why a cancellation of stop orders in a batch has to name its market. Alone, one without a market cancels those of all
 * markets; in a batch, each validator fails while it executes it (v0.78.0, `failedMarkets[*cancel.MarketId]` in
 * `core/processor/batch_market_instructions_processor.go`).
 */
const HALTING_CANCELLATION = "is required in a batch: without it, the batch stops a network of v0.78.0 for good";

/**
 * Tells whether a command stops a network of v0.78.0 for good.
 *
 * @param command the command
 * @returns what is wrong with it; `undefined` for all others
 */
export function haltingProblem(command: InputData["command"]): Problem | undefined {
  switch (command.case) {
    case "amendAmm":
      return command.value.concentratedLiquidityParameters === undefined
        ? { path: "amendAmm.concentratedLiquidityParameters", message: HALTING_AMENDMENT }
        : undefined;
    case "batchMarketInstructions": {
      const index = command.value.stopOrdersCancellation.findIndex(({ marketId }) => marketId === undefined);
      return index < 0
        ? undefined
        : {
            path: `batchMarketInstructions.stopOrdersCancellation[${index}].marketId`,
            message: HALTING_CANCELLATION,
          };
    }
    default:
      return undefined;
  }
}
