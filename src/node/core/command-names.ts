import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { ProposalTerms } from "../../../gen/vega/governance_pb.js";

export type CommandKind = Exclude<InputData["command"]["case"], undefined>;

/**
 * The network's names of the commands that the local node executes, or refuses as the network does, as in its error texts
 * and error events (`core/txn/command.go`).
 */
const NAMES: Readonly<Partial<Record<CommandKind, string>>> = {
  orderSubmission: "Submit Order",
  orderCancellation: "Cancel Order",
  orderAmendment: "Amend Order",
  withdrawSubmission: "Withdraw",
  proposalSubmission: "Proposal",
  voteSubmission: "Vote on Proposal",
  nodeVote: "Node Vote",
  nodeSignature: "Node Signature",
  chainEvent: "Chain Event",
  keyRotateSubmission: "Key Rotate Submission",
  stateVariableProposal: "State Variable Proposal",
  transfer: "Transfer Funds",
  cancelTransfer: "Cancel Transfer Funds",
  validatorHeartbeat: "Validator Heartbeat",
  ethereumKeyRotateSubmission: "Ethereum Key Rotate Submission",
  protocolUpgradeProposal: "Protocol Upgrade",
  batchMarketInstructions: "Batch Market Instructions",
  stopOrdersSubmission: "Stop Orders Submission",
  stopOrdersCancellation: "Stop Orders Cancellation",
  updatePartyProfile: "Update Party Profile",
};

/** Validator commands, which need no proof of work (`IsValidatorCommand` in `core/txn/command.go`). */
const VALIDATOR_COMMANDS: readonly string[] = [
  "nodeSignature",
  "chainEvent",
  "nodeVote",
  "validatorHeartbeat",
  "keyRotateSubmission",
  "stateVariableProposal",
  "ethereumKeyRotateSubmission",
] satisfies readonly CommandKind[];

export function commandName(kind: CommandKind | undefined): string {
  return kind === undefined ? "" : (NAMES[kind] ?? "");
}

/** The changes that the local node enacts. */
const CHANGES: readonly ProposalTerms["change"]["case"][] = ["newMarket", "updateMarket", "updateNetworkParameter"];

/**
 * Returns why the local node refuses a command that the network may accept. A bot must not be tested against an imitation
 * of what the node does not execute.
 */
export function unsupportedProblem(command: InputData["command"]): string | undefined {
  const name = unsupportedName(command);
  return name && `the local node does not execute ${name}`;
}

function unsupportedName(command: InputData["command"]): string | undefined {
  if (command.case === "batchMarketInstructions" && command.value.updateMarginMode.length > 0) {
    return "batchMarketInstructions.updateMarginMode";
  }
  const change = command.case === "proposalSubmission" ? command.value.terms?.change.case : undefined;
  if (change !== undefined && !CHANGES.includes(change)) {
    return `proposalSubmission.terms.${change}`;
  }
  return command.case === undefined || command.case in NAMES ? undefined : command.case;
}

/** Returns whether a command is a validator command, which needs no proof of work. */
export function isValidatorCommand(kind: CommandKind | undefined): boolean {
  return kind !== undefined && VALIDATOR_COMMANDS.includes(kind);
}
