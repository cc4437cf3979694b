import type { BatchMarketInstructions } from "../../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../../gen/vega/commands/v1/transaction_pb.js";
import { assertObject } from "../../../base/input/assert.js";
import { type Command, listProblems, type Problem } from "./field-rules.js";
import { haltingProblem } from "./halting-commands.js";
import { batchEntryProblems, networkProblems } from "./network/index.js";
import {
  orderAmendmentProblems,
  orderCancellationProblems,
  orderProblems,
  stopOrdersCancellationProblems,
  stopOrdersProblems,
} from "./order-commands.js";
import { marginModeProblems, otherProblems } from "./party-commands.js";

export type { Problem } from "./field-rules.js";
export { type NetworkProblem, networkProblems } from "./network/index.js";

/**
 * Checks a command, as far as that is possible without the network's state: by the rules of the API documentation,
 * and by those of the network's own check (`commands/` of v0.78.0).
 *
 * The network may still refuse a command without a problem here, or fail to execute it.
 *
 * @param command the command by its name, and its complete message
 * @returns the problems by the path of the field; empty if there are none
 * @throws {@link RequestError} if no command has this name, or its message is missing
 *
 * @example
 * import { create } from "@bufbuild/protobuf";
 * import { vegaCommandsV1 } from "tradewire/api";
 *
 * const value = create(vegaCommandsV1.OrderCancellationSchema, { orderId });
 * for (const { path, message } of commandProblems({ case: "orderCancellation", value })) console.log(path, message);
 */
export function commandProblems(command: Command): readonly Problem[] {
  assertObject("command", command);
  assertObject("command.value", command.value);
  const specified = isSpecified(command.case) ? [...specifiedProblems(command)] : [];
  const halting = haltingProblem(command);
  if (specified.length > 0) {
    return specified;
  }
  if (halting !== undefined) {
    return [halting];
  }
  const found = networkProblems(command);
  const entries = command.case === "batchMarketInstructions" ? [...batchEntryProblems(command.value)] : [];
  return [...found, ...entries].map(({ path, message }) => ({ path, message }));
}

function specifiedProblems(command: Command): Iterable<Problem> {
  switch (command.case) {
    case "orderSubmission":
      return orderProblems(command.value, command.case);
    case "orderCancellation":
      return orderCancellationProblems(command.value, command.case);
    case "orderAmendment":
      return orderAmendmentProblems(command.value, command.case);
    case "stopOrdersSubmission":
      return stopOrdersProblems(command.value, command.case);
    case "stopOrdersCancellation":
      return stopOrdersCancellationProblems(command.value, command.case);
    case "batchMarketInstructions":
      return batchProblems(command.value, command.case);
    default:
      return otherProblems(command);
  }
}

function* batchProblems(batch: BatchMarketInstructions, at: string): Generator<Problem> {
  const { cancellations, amendments, submissions } = batch;
  const lists = [
    cancellations,
    amendments,
    submissions,
    batch.stopOrdersCancellation,
    batch.stopOrdersSubmission,
    batch.updateMarginMode,
  ];
  if (lists.every(({ length }) => length === 0)) {
    yield { path: at, message: "must contain at least one instruction" };
  }
  yield* listProblems(cancellations, `${at}.cancellations`, orderCancellationProblems);
  yield* listProblems(amendments, `${at}.amendments`, orderAmendmentProblems);
  yield* listProblems(submissions, `${at}.submissions`, orderProblems);
  yield* listProblems(batch.stopOrdersCancellation, `${at}.stopOrdersCancellation`, stopOrdersCancellationProblems);
  yield* listProblems(batch.stopOrdersSubmission, `${at}.stopOrdersSubmission`, stopOrdersProblems);
  yield* listProblems(batch.updateMarginMode, `${at}.updateMarginMode`, marginModeProblems);
  const amended = new Set<string>();
  for (const [index, { orderId }] of amendments.entries()) {
    if (amended.has(orderId)) {
      yield { path: `${at}.amendments[${index}].orderId`, message: "is already amended in this batch" };
    }
    amended.add(orderId);
  }
}

/** The commands that a network knows in addition to those that this module checks. */
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

/** Returns whether the API documentation describes a command. */
export function isSpecified(name: InputData["command"]["case"]): boolean {
  return name !== undefined && !BESIDE_SPECIFICATION.has(name);
}
