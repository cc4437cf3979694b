import type { BatchMarketInstructions, UpdateMarginMode } from "../../../../gen/vega/commands/v1/commands_pb.js";
import { assertObject } from "../../../base/input/assert.js";
import {
  type Command,
  fieldProblems,
  listProblems,
  optional,
  type Problem,
  positiveWhole,
  upToOne,
  whole,
} from "./field-rules.js";
import { haltingProblem } from "./halting-commands.js";
import { batchEntryProblems, networkProblems } from "./network/index.js";
import { MESSAGE } from "./network/network-rules.js";
import {
  orderAmendmentProblems,
  orderCancellationProblems,
  orderProblems,
  stopOrdersCancellationProblems,
  stopOrdersProblems,
} from "./order-commands.js";
import { transferProblems, withdrawalProblems } from "./transfer-commands.js";

export type { Problem } from "./field-rules.js";
export { type NetworkProblem, networkProblems } from "./network/index.js";

/**
 * Checks a command, as far as that is possible without the network's state: orders, transfers and withdrawals by the rules
 * of the API documentation, and every command by those of the network's own check (`commands/` of v0.78.0).
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
  const specified = [...specifiedProblems(command)];
  const halting = haltingProblem(command);
  if (specified.length > 0) {
    return specified;
  }
  if (halting !== undefined) {
    return [halting];
  }
  const found = networkProblems(command);
  const entries = command.case === "batchMarketInstructions" ? [...batchEntryProblems(command.value)] : [];
  return [...found, ...entries].map(({ path, message }) => ({ path, message: IN_OUR_WORDS.get(message) ?? message }));
}

/** The network's texts that do not say what was expected. */
const IN_OUR_WORDS: ReadonlyMap<string, string> = new Map([
  [MESSAGE.id, "must be 64 hex digits"],
  [MESSAGE.publicKey, "must be 64 hex digits"],
  [MESSAGE.notAnInteger, "must be a whole number"],
  [MESSAGE.notANumber, "must be a number"],
  [MESSAGE.notAFloat, "must be a decimal number"],
]);

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
    case "transfer":
      return transferProblems(command.value, command.case);
    case "withdrawSubmission":
      return withdrawalProblems(command.value, command.case);
    case "undelegateSubmission": // The network takes 0 for all, and the empty text for an error.
      return fieldProblems(command.value, { amount: optional(positiveWhole) }, command.case);
    case "updateMarginMode":
      return marginModeProblems(command.value, command.case);
    default:
      return amountProblems(command);
  }
}

/** Checks a margin factor. The network takes larger ones, and locks as many times the value of all orders. */
function marginModeProblems(command: UpdateMarginMode, at: string): Iterable<Problem> {
  return fieldProblems(command, { marginFactor: optional(upToOne) }, at);
}

/** Checks the size of amounts, which the network's check does not. */
function* amountProblems({ case: at, value }: Command): Generator<Problem> {
  for (const name of ["amount", "commitmentAmount"]) {
    const amount: unknown = Reflect.get(value, name);
    const message = typeof amount === "string" && /^\+?\d+$/.test(amount) ? whole(amount.replace("+", "")) : undefined;
    if (message !== undefined) {
      yield { path: `${at}.${name}`, message };
    }
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
