import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";

/** A command that input data may hold, by its name and its message. */
export type Command = Extract<InputData["command"], { readonly case: string }>;

/** The commands that a network knows beside those of the specification (2.4). Here is no rule for them. */
const BESIDE_SPECIFICATION: ReadonlySet<Command["case"]> = new Set([
  "proposalSubmission",
  "batchProposalSubmission",
  "announceNode",
  "nodeVote",
  "nodeSignature",
  "chainEvent",
  "keyRotateSubmission",
  "stateVariableProposal",
  "validatorHeartbeat",
  "ethereumKeyRotateSubmission",
  "protocolUpgradeProposal",
  "issueSignatures",
  "oracleDataSubmission",
  "delayedTransactionsWrapper",
]);

/**
 * Tell whether a command is one of the specification (2.4).
 *
 * @param name the command's name
 * @returns false for a command of governance, of validators or of oracles, and where there is none
 */
export function isSpecified(name: InputData["command"]["case"]): boolean {
  return name !== undefined && !BESIDE_SPECIFICATION.has(name);
}
