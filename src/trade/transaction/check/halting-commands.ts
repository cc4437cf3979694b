import type { InputData } from "../../../../gen/vega/commands/v1/transaction_pb.js";
import type { Problem } from "./field-rules.js";

type Command = InputData["command"];

/**
 * The reason why an amendment of a market maker needs its curve. The network's check accepts an amendment without it,
 * and each validator then fails when it executes the amendment (v0.78.0, `VerifyAMMBounds` in
 * `core/execution/future/market.go`).
 */
const HALTING_AMENDMENT = "is required: without it, the amendment permanently halts a v0.78.0 network";

/**
 * Why a cancellation of stop orders in a batch has to name its market. On its own, a cancellation without a market cancels
 * the stop orders of all markets. In a batch, each validator fails while it executes it (v0.78.0, `failedMarkets[*cancel.MarketId]` in
 * `core/processor/batch_market_instructions_processor.go`).
 */
const HALTING_CANCELLATION = "is required in a batch: without it, the batch permanently halts a v0.78.0 network";

/** Why a heartbeat needs its signature (v0.78.0, `checkValidatorHeartbeat` in `commands/validator_heartbeat.go`). */
const FAILING_HEARTBEAT = "is required: a v0.78.0 node that checks a heartbeat without it fails";

/**
 * Why a batch of proposals must not update a parameter that cannot be updated. A node that checks such a batch adds the
 * list of errors to itself, and ends when it writes it (v0.78.0, `CheckBatchPropose` in `core/processor/abci.go`). A
 * proposal of its own is refused without harm.
 */
const HALTING_UPDATE = "updating it in a batch of proposals stops a core node of v0.78.0 that checks the batch";

/** The parameters that v0.78.0 has and does not update (`Deprecated` and `updateDisallowed` in `core/netparams`). */
const FIXED_PARAMETERS: ReadonlyMap<string, string> = new Map([
  ["blockchains.ethereumConfig", "cannot be updated"],
  ["blockchains.evmBridgeConfigs", "cannot be updated"],
  ["market.liquidity.targetstake.triggering.ratio", "is deprecated"],
  ["market.stake.target.scalingFactor", "is deprecated"],
  ["market.stake.target.timeWindow", "is deprecated"],
  ["reward.staking.delegation.maxPayoutPerEpoch", "is deprecated"],
  ["reward.staking.delegation.payoutDelay", "is deprecated"],
  ["reward.staking.delegation.payoutFraction", "is deprecated"],
]);

/** Returns whether a command permanently halts a v0.78.0 network, or crashes the node that checks it. */
export function haltingProblem(command: Command): Problem | undefined {
  switch (command.case) {
    case "amendAmm":
      return command.value.concentratedLiquidityParameters === undefined
        ? { path: "amendAmm.concentratedLiquidityParameters", message: HALTING_AMENDMENT }
        : undefined;
    case "validatorHeartbeat":
      return command.value.vegaSignature === undefined
        ? { path: "validatorHeartbeat.vegaSignature", message: FAILING_HEARTBEAT }
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
    case "batchProposalSubmission":
      for (const { path, key } of updatesInBatch(command)) {
        const why = FIXED_PARAMETERS.get(key);
        if (why !== undefined) {
          return { path, message: `must not be ${key}, which ${why}: ${HALTING_UPDATE}` };
        }
      }
      return undefined;
    default:
      return undefined;
  }
}

/**
 * Returns whether a batch of proposals updates a parameter that the network does not have, which stops the node that checks
 * it. Networks have their own parameters, so the client asks the network.
 */
export async function unknownParameterProblem(
  command: Command,
  hasParameter: (key: string) => Promise<boolean>,
): Promise<Problem | undefined> {
  for (const { path, key } of updatesInBatch(command)) {
    if (!(await hasParameter(key))) {
      return { path, message: `must not be ${key}, which this network does not have: ${HALTING_UPDATE}` };
    }
  }
  return undefined;
}

/** The updates of parameters in a batch of proposals. One without a key is refused before it does harm. */
function updatesInBatch(command: Command): { readonly path: string; readonly key: string }[] {
  if (command.case !== "batchProposalSubmission") {
    return [];
  }
  return (command.value.terms?.changes ?? []).flatMap(({ change }, index) => {
    const key = change.case === "updateNetworkParameter" ? (change.value.changes?.key ?? "") : "";
    const path = `${command.case}.terms.changes[${index}].updateNetworkParameter.changes.key`;
    return key === "" ? [] : [{ path, key }];
  });
}
