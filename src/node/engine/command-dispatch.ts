import { create } from "@bufbuild/protobuf";
import type { BatchMarketInstructions, UpdatePartyProfile } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { PartyProfileUpdatedSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { PartyProfileSchema } from "../../../gen/vega/vega_pb.js";
import {
  type CommandIdentifiers,
  commandIdentifiers,
  identifiers,
} from "../../trade/transaction/command-identifiers.js";
import { cancelTransfer, submitTransfer, withdraw } from "./banking.js";
import type { ExecutionContext } from "./engine-state.js";
import { cancelOrders } from "./order-commands.js";
import { submitProposal, vote } from "./proposals.js";
import { amendAndTrigger, cancelStopOrders, submitAndTrigger, submitStopOrders } from "./stop-orders.js";

/** A command of a transaction in a block. */
export interface AppliedCommand {
  readonly command: InputData["command"];
  /** Sender's public key, 64 hex digits in lower case. */
  readonly partyId: string;
  /** The transaction's signature, 64 bytes. The identifiers of new orders, transfers and so on are derived from it. */
  readonly signature: Uint8Array;
}

/**
 * CommandResult of a command. `partial` means that some instructions of a batch failed. The key of an error names the
 * instruction; it is empty for a command that is not a batch.
 */
export type CommandResult =
  | { readonly status: "success" }
  | {
      readonly status: "partial" | "failure";
      readonly errors: readonly { readonly key: string; readonly error: string }[];
    };

export function applyCommand(block: ExecutionContext, { command, partyId, signature }: AppliedCommand): CommandResult {
  const ids = commandIdentifiers(command, signature);
  const [id = ""] = ids.submissions;
  const context = { ...block, nextId: ids.next };
  const firstId = () => identifiers(signature).next().value;
  switch (command.case) {
    case "orderSubmission":
      return outcomeOfError(submitAndTrigger(context, partyId, command.value, id));
    case "orderAmendment":
      return outcomeOfError(amendAndTrigger(context, partyId, command.value));
    case "orderCancellation":
      return outcomeOfError(cancelOrders(context, partyId, command.value));
    case "stopOrdersSubmission":
      submitStopOrders(context, partyId, command.value, ids.stopOrders[0] ?? {});
      return { status: "success" };
    case "stopOrdersCancellation":
      cancelStopOrders(context, partyId, command.value); // Outside a batch this command always succeeds.
      return { status: "success" };
    case "batchMarketInstructions":
      return applyBatch(context, partyId, command.value, ids);
    case "transfer":
      return outcomeOfError(submitTransfer(context, partyId, command.value, firstId()));
    case "cancelTransfer":
      return outcomeOfError(cancelTransfer(context, partyId, command.value));
    case "proposalSubmission":
      return outcomeOfError(submitProposal(context, partyId, command.value, firstId()));
    case "voteSubmission":
      return outcomeOfError(vote(context, partyId, command.value));
    case "withdrawSubmission":
      return outcomeOfError(withdraw(context, partyId, command.value, firstId()));
    case "updatePartyProfile":
      return outcomeOfError(updateProfile(context, partyId, command.value));
    default:
      return outcomeOfError("the transaction has no command that the local node executes");
  }
}

function outcomeOfError(error: string | undefined): CommandResult {
  return error === undefined ? { status: "success" } : { status: "failure", errors: [{ key: "", error }] };
}

/**
 * Applies a batch in the network's order: order cancellations, amendments and submissions, stop order cancellations and
 * submissions. Each instruction succeeds or fails on its own. An order can be amended only once per batch.
 *
 * Cancellations, amendments, submissions and stop orders share one index from "0", which is the key of their errors.
 * Stop order cancellations have an index of their own (v0.78.0, `core/processor/batch_market_instructions_processor.go`). A
 * rejected stop order is not an error.
 */
function applyBatch(
  context: ExecutionContext,
  partyId: string,
  batch: BatchMarketInstructions,
  ids: CommandIdentifiers,
): CommandResult {
  const amended = new Set<string>();
  const counted = [
    ...batch.cancellations.map((each) => () => cancelOrders(context, partyId, each)),
    ...batch.amendments.map((each) => () => {
      if (amended.has(each.orderId)) {
        return "order already amended in batch";
      }
      const error = amendAndTrigger(context, partyId, each);
      if (error === undefined) {
        amended.add(each.orderId);
      }
      return error;
    }),
    ...batch.submissions.map(
      (each, index) => () => submitAndTrigger(context, partyId, each, ids.submissions[index] ?? ""),
    ),
  ];
  const cancellations = batch.stopOrdersCancellation.map((each) => () => cancelStopOrders(context, partyId, each));
  const stopOrders = batch.stopOrdersSubmission.map((each, index) => () => {
    submitStopOrders(context, partyId, each, ids.stopOrders[index] ?? {}, ids.submissions);
    return undefined;
  });
  const results = [counted, cancellations, stopOrders].flatMap((instructions) =>
    instructions.map((execute, index) => ({ key: String(index), error: execute() })),
  );
  const errors = results.flatMap(({ key, error }) => (error === undefined ? [] : [{ key, error }]));
  if (errors.length === 0) {
    return { status: "success" };
  }
  return { status: errors.length < results.length ? "partial" : "failure", errors };
}

/** Updates a party's profile (`core/parties/engine.go`). Aliases are unique. */
function updateProfile(
  context: ExecutionContext,
  partyId: string,
  { alias, metadata }: UpdatePartyProfile,
): string | undefined {
  const { profiles } = context.state;
  const reason =
    alias === "network"
      ? "this alias is reserved"
      : alias !== "" && [...profiles.values()].some((other) => other.partyId !== partyId && other.alias === alias)
        ? `alias "${alias}" is already taken`
        : undefined;
  if (reason !== undefined) {
    return `couldn't update profile: invalid profile update: ${reason}`;
  }
  const updatedProfile = create(PartyProfileSchema, { partyId, alias, metadata });
  profiles.set(partyId, updatedProfile);
  context.emit({ case: "partyProfileUpdated", value: create(PartyProfileUpdatedSchema, { updatedProfile }) });
  return undefined;
}
