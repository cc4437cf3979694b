import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";

/** The kind of a command. */
export type CommandKind = Exclude<InputData["command"]["case"], undefined>;

/** The network's names of commands, as in its error texts and error events (`core/txn/command.go`). */
const NAMES: Readonly<Record<CommandKind, string>> = {
  orderSubmission: "Submit Order",
  orderCancellation: "Cancel Order",
  orderAmendment: "Amend Order",
  withdrawSubmission: "Withdraw",
  proposalSubmission: "Proposal",
  batchProposalSubmission: "Batch Proposal",
  voteSubmission: "Vote on Proposal",
  announceNode: "Register New Node",
  nodeVote: "Node Vote",
  nodeSignature: "Node Signature",
  liquidityProvisionSubmission: "Liquidity Provision Order",
  liquidityProvisionCancellation: "Cancel Liquidity Provision Order",
  liquidityProvisionAmendment: "Amend Liquidity Provision Order",
  chainEvent: "Chain Event",
  oracleDataSubmission: "Submit Oracle Data",
  delegateSubmission: "Delegate",
  undelegateSubmission: "Undelegate",
  keyRotateSubmission: "Key Rotate Submission",
  stateVariableProposal: "State Variable Proposal",
  transfer: "Transfer Funds",
  cancelTransfer: "Cancel Transfer Funds",
  validatorHeartbeat: "Validator Heartbeat",
  ethereumKeyRotateSubmission: "Ethereum Key Rotate Submission",
  protocolUpgradeProposal: "Protocol Upgrade",
  issueSignatures: "Issue Signatures",
  batchMarketInstructions: "Batch Market Instructions",
  stopOrdersSubmission: "Stop Orders Submission",
  stopOrdersCancellation: "Stop Orders Cancellation",
  createReferralSet: "Create Referral Set",
  updateReferralSet: "Update Referral Set",
  applyReferralCode: "Apply Referral Code",
  updateMarginMode: "Update Margin Mode",
  joinTeam: "Join Team",
  updatePartyProfile: "Update Party Profile",
  submitAmm: "Submit AMM",
  amendAmm: "Amend AMM",
  cancelAmm: "Cancel AMM",
  delayedTransactionsWrapper: "Delayed Transactions Wrapper",
};

/** Validator commands, which need no proof of work (`IsValidatorCommand` in `core/txn/command.go`). */
const VALIDATOR_COMMANDS: readonly string[] = [
  "delayedTransactionsWrapper",
  "nodeSignature",
  "chainEvent",
  "nodeVote",
  "validatorHeartbeat",
  "keyRotateSubmission",
  "stateVariableProposal",
  "ethereumKeyRotateSubmission",
] satisfies readonly CommandKind[];

/**
 * Returns the network's name of a command.
 *
 * @param kind the field of `vega.commands.v1.InputData` that holds the command, if there is one
 * @returns the name, such as `Submit Order`; empty without a command
 */
export function commandName(kind: CommandKind | undefined): string {
  return kind === undefined ? "" : NAMES[kind];
}

/**
 * Returns whether a command is a validator command, which needs no proof of work.
 *
 * @param kind the field of `vega.commands.v1.InputData` that holds the command
 * @returns whether it is a validator command
 */
export function isValidatorCommand(kind: CommandKind | undefined): boolean {
  return kind !== undefined && VALIDATOR_COMMANDS.includes(kind);
}
